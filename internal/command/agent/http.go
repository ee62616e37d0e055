// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const profilesPath = "v1development/profiles"

const maxReply = 1 << 16

type httpClient struct{ poster }

// httpURL takes an endpoint that ends in the profiles' path as it is.
func httpURL(u *url.URL) string {
	if !strings.HasSuffix(u.Path, "/profiles") {
		u = u.JoinPath(profilesPath)
	}
	return u.String()
}

func (c httpClient) send(ctx context.Context, body []byte) (reply, *failure) {
	answer, text, f := c.post(ctx, gzipCompress(body), map[string]string{
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

// retryAfter parses seconds or a date (RFC 9110 §10.2.3); 0: neither.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}
