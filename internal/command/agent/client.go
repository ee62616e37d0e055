// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/store/otlp"
)

// Protocols.
const (
	GRPC = "grpc"
	HTTP = "http"
)

// Receiver is the destination of messages.
type Receiver struct {
	// Endpoint is a URL: http for plain text, https for TLS.
	Endpoint string
	Protocol string
	// PEM files: certificate authority of the receiver; certificate and key of the agent.
	CAFile, CertFile, KeyFile string
	// TokenFile is read for each message, since tokens are renewed.
	TokenFile string
	Headers   map[string]string
	UserAgent string
	Timeout   time.Duration
}

type failure struct {
	kind      failureKind
	busy      bool          // the receiver says so
	why       string        // reason of the loss; "" means lostRefused
	notBefore time.Duration // shortest pause before the next attempt; 0 means unspecified
	err       error
}

// maxRetryAfter is the longest pause that a receiver may ask for.
const maxRetryAfter = time.Hour

func (f *failure) pause() time.Duration { return min(f.notBefore, maxRetryAfter) }

func (f *failure) setBusy() { f.kind, f.busy = retryable, true }

type failureKind int

const (
	retryable failureKind = iota // send it later
	tooLarge
	refused
)

type reply struct {
	rejected int64
	why      string
}

// acceptedReply takes a damaged reply as no rejection: to send the message again would duplicate it.
func acceptedReply(text []byte) reply {
	rejected, why, _ := otlp.Rejected(text)
	return reply{rejected, why}
}

// client sends messages. A nil failure means accepted.
type client interface {
	send(ctx context.Context, body []byte) (reply, *failure)
}

// poster sends compressed bodies to a URL.
type poster struct {
	receiver *Receiver
	http     *http.Client
	url      string
}

// post returns the reply, with at most maxReply bytes of its body.
func (p *poster) post(ctx context.Context, body []byte, header map[string]string) (*http.Response, []byte, *failure) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, &failure{kind: refused, err: err}
	}
	r.Header.Set("User-Agent", p.receiver.UserAgent)
	for key, value := range header {
		r.Header.Set(key, value)
	}
	for key, value := range p.receiver.Headers {
		r.Header.Set(key, value)
	}
	if p.receiver.TokenFile != "" {
		token, err := os.ReadFile(p.receiver.TokenFile)
		if err != nil {
			return nil, nil, &failure{kind: retryable, err: fmt.Errorf("%w: %w", errToken, err)}
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	answer, err := p.http.Do(r)
	if err != nil {
		return nil, nil, &failure{kind: retryable, err: err}
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxReply)) // the status decides, and is missing if that failed
	return answer, text, nil
}

func newClient(to Receiver) (client, error) {
	u, err := url.Parse(to.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errs.Usage("--endpoint %s: give a URL, such as http://localhost:4317 or https://collector:4317",
			redacted(to.Endpoint))
	}
	transport, err := to.transport(u.Scheme == "https")
	if err != nil {
		return nil, err
	}
	log.SetOutput(io.Discard) // net/http writes there what a receiver sends unasked
	c := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	switch to.Protocol {
	case GRPC:
		return grpcClient{poster{&to, c, strings.TrimSuffix(u.String(), "/") + profilesProcedure}}, nil
	case HTTP:
		return httpClient{poster{&to, c, httpURL(u)}}, nil
	}
	return nil, errs.Usage("--protocol %s: give grpc or http", to.Protocol)
}

func (r *Receiver) transport(secure bool) (*http.Transport, error) {
	h := &http.Transport{
		Proxy: http.ProxyFromEnvironment, IdleConnTimeout: 90 * time.Second, Protocols: new(http.Protocols),
		MaxResponseHeaderBytes: maxReply,
	}
	h.Protocols.SetHTTP1(r.Protocol == HTTP)
	h.Protocols.SetHTTP2(true)
	h.Protocols.SetUnencryptedHTTP2(r.Protocol == GRPC)
	if !secure {
		if r.CAFile != "" || r.CertFile != "" || r.KeyFile != "" {
			return nil, errs.Usage("--ca, --cert and --key are for an endpoint that begins with https://; leave " +
				"them out, or give one")
		}
		return h, nil
	}
	h.TLSClientConfig, h.TLSHandshakeTimeout = &tls.Config{MinVersion: tls.VersionTLS12}, r.Timeout
	if r.CAFile != "" {
		pem, err := os.ReadFile(r.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w; give a PEM file with certificates", err)
		}
		h.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !h.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--ca %s: it has no certificate; give a PEM file", r.CAFile)
		}
	}
	if (r.CertFile == "") != (r.KeyFile == "") {
		return nil, errs.Usage("give --cert and --key together")
	}
	if r.CertFile != "" {
		if _, err := tls.LoadX509KeyPair(r.CertFile, r.KeyFile); err != nil {
			return nil, fmt.Errorf("--cert, --key: %w; give a certificate and its private key as PEM files", err)
		}
		h.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c, err := tls.LoadX509KeyPair(r.CertFile, r.KeyFile)
			return &c, err
		}
	}
	return h, nil
}

const profilesPath = "v1development/profiles"

const maxReply = 1 << 16

type httpClient struct{ poster poster }

// httpURL takes an endpoint that ends in the profiles' path as it is.
func httpURL(u *url.URL) string {
	if !strings.HasSuffix(u.Path, "/profiles") {
		u = u.JoinPath(profilesPath)
	}
	return u.String()
}

func (c httpClient) send(ctx context.Context, body []byte) (reply, *failure) {
	answer, text, f := c.poster.post(ctx, gzipCompress(body), map[string]string{
		"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip",
	})
	if f != nil {
		return reply{}, f
	}
	if answer.StatusCode/100 != 2 {
		return reply{}, httpFailure(answer, text)
	}
	return acceptedReply(text), nil
}

// httpFailure takes four statuses as retryable (OTLP/HTTP, Retryable Response Codes).
func httpFailure(answer *http.Response, text []byte) *failure {
	f := &failure{kind: refused, err: fmt.Errorf("the receiver says %s", receiversText(answer.Status))}
	if why := strings.TrimSpace(string(text)); why != "" && strings.HasPrefix(answer.Header.Get("Content-Type"), "text/") {
		f.err = fmt.Errorf("%w: %s", f.err, receiversText(why))
	}
	switch answer.StatusCode {
	case http.StatusRequestEntityTooLarge:
		f.kind = tooLarge
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		f.setBusy()
		f.notBefore = retryAfter(answer.Header.Get("Retry-After"), time.Now())
	case http.StatusUnauthorized, http.StatusForbidden:
		f.why = lostUnauthorized
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		f.why = lostNotFound
	}
	return f
}

// retryAfter parses seconds or a date (RFC 9110 §10.2.3); it returns 0 for other texts.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}

func gzipCompress(body []byte) []byte {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err == nil {
		_, err = z.Write(body)
	}
	if err = cmp.Or(err, z.Close()); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// gzipDecompress fails for more than limit bytes.
func gzipDecompress(text []byte, limit int) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(z, int64(limit)+1))
	if err == nil && len(body) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	return body, err
}
