// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

type authority struct {
	dir            string
	key            *ecdsa.PrivateKey
	cert           *x509.Certificate
	ca             string
	server, client pair
}

type pair struct{ cert, key string }

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	files, der, key := a.sign(t, "ca", template, nil, nil)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.ca, a.cert, a.key = files.cert, cert, key
	leaf := func(name string, n int64, use x509.ExtKeyUsage) pair {
		files, _, _ := a.sign(t, name, &x509.Certificate{
			SerialNumber: big.NewInt(n), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
			NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{use},
		}, a.cert, a.key)
		return files
	}
	a.server = leaf("server", 2, x509.ExtKeyUsageServerAuth)
	a.client = leaf("client", 3, x509.ExtKeyUsageClientAuth)
	return a
}

func (a *authority) sign(
	t *testing.T, name string, template, parent *x509.Certificate, by *ecdsa.PrivateKey,
) (files pair, der []byte, key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if parent == nil {
		parent, by = template, key
	}
	if der, err = x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by); err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	files = pair{filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")}
	for path, block := range map[string]*pem.Block{
		files.cert: {Type: "CERTIFICATE", Bytes: der}, files.key: {Type: "PRIVATE KEY", Bytes: text},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files, der, key
}
