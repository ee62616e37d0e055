// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"strings"

	"golang.org/x/sys/unix"
)

// errToken reports a --bearer-token file that cannot be read.
var errToken = errors.New("--bearer-token")

func redacted(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil {
		return u.Redacted()
	}
	return endpoint
}

// cause returns an error without the request's URL, which messages contain already.
func cause(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

func nextStep(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var header tls.RecordHeaderError
	var alert tls.AlertError
	var dns *net.DNSError
	text := err.Error()
	switch {
	case errors.Is(err, errToken):
		return "name a file with the token, which the agent's user may read"
	case errors.As(err, &unknown):
		return "give the certificate of the authority that signed the receiver's with --ca"
	case errors.As(err, &host):
		return "use a name in --endpoint that the receiver's certificate is for"
	case errors.As(err, &alert), strings.Contains(text, "remote error: tls:"):
		return "give a certificate that the receiver accepts with --cert and --key"
	case errors.As(err, &header), strings.Contains(text, "gave HTTP response to HTTPS client"):
		return "use http:// in --endpoint, or set up TLS in the receiver"
	case strings.Contains(text, "HTTP request to an HTTPS server"):
		return "use https:// in --endpoint"
	case errors.As(err, &dns):
		return "check the host name in --endpoint"
	case errors.Is(err, unix.ECONNREFUSED):
		return "start the receiver, or check the port in --endpoint: 4317 is usual for grpc, 4318 for http"
	case errors.Is(err, context.DeadlineExceeded):
		return "check the network, a firewall (IPAddressAllow of a unit) and the receiver's load, or raise --timeout"
	case errors.Is(err, errBusy):
		return "see the receiver's log: it is busy, or what it exports to does not answer"
	}
	return "check --endpoint and --protocol: 4317 is the usual port for grpc, 4318 for http"
}

// errBusy reports a receiver that cannot accept a message now.
var errBusy = errors.New("the receiver is busy")

// remedies are next steps for refused messages, by reason of the loss.
var remedies = map[string]string{
	lostUnauthorized: "check --bearer-token, --cert and --header",
	lostNotFound:     "check --endpoint and --protocol, and that the receiver has a pipeline of profiles",
	lostTooLarge:     "raise the receiver's limit: it refuses messages of less than 64 KiB",
	lostRefused:      "see the receiver's log: it may read another release of the profiles signal (v1development)",
}

func spoolStep(err error) string {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return "free space there, or lower --spool-size"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		return "give a directory that the agent's user can write to"
	}
	return "give another directory"
}
