// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

type said []string

func (s *said) say(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }

func status(code int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(code)
	})
}

var busyForAnHour = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "3600")
	status(http.StatusTooManyRequests).ServeHTTP(w, r)
})

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func TestMessagesNameTheReceiverTheCauseAndTheNextStep(t *testing.T) {
	serve := func(h http.Handler) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	secure := httptest.NewTLSServer(status(200))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(secure.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}
	if err := os.WriteFile(ca, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	_, securePort, _ := net.SplitHostPort(strings.TrimPrefix(secure.URL, "https://"))
	released := make(chan struct{})
	silent := serve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-released:
		case <-r.Context().Done():
		}
	}))
	defer close(released)
	for _, c := range []struct {
		name  string
		to    Receiver
		wants []string
	}{
		{"nothing listens", Receiver{Endpoint: closedPort(t)}, []string{
			"cannot send to URL, messages wait and are sent again: ", "connection refused",
			"; start the receiver, or check the port"}},
		{"no such host", Receiver{Endpoint: "http://collector.invalid:4317"}, []string{
			"cannot send to URL", "lookup collector.invalid", "; check the host name in --endpoint"}},
		{"HTTP, not gRPC", Receiver{Endpoint: serve(status(200)), Protocol: GRPC}, []string{
			"cannot send to URL", "; check --endpoint and --protocol: 4317 is the usual port for grpc"}},
		{"unknown authority", Receiver{Endpoint: secure.URL}, []string{
			"cannot send to URL", "unknown authority",
			"; give the certificate of the authority that signed the receiver's with --ca"}},
		{"another name", Receiver{Endpoint: "https://localhost:" + securePort, CAFile: ca}, []string{
			"cannot send to URL", "valid for", "; use a name in --endpoint"}},
		{"no TLS", Receiver{Endpoint: strings.Replace(serve(status(200)), "http:", "https:", 1)}, []string{
			"cannot send to URL", "HTTPS client", "; use http:// in --endpoint"}},
		{"TLS", Receiver{Endpoint: "http://127.0.0.1:" + securePort}, []string{
			"URL refuses messages", "400", "; see the receiver's log"}},
		{"busy", Receiver{Endpoint: serve(status(503))}, []string{
			"cannot send to URL", "503 Service Unavailable", "; see the receiver's log: it is busy"}},
		{"busy for an hour", Receiver{Endpoint: serve(busyForAnHour)}, []string{
			"cannot send to URL, messages wait and are sent again after 1h0m0s: ", "429 Too Many Requests",
			"; see the receiver's log: it is busy"}},
		{"no answer", Receiver{Endpoint: silent, Timeout: 50 * time.Millisecond}, []string{
			"cannot send to URL", "no answer in time",
			"; check the network, a firewall (IPAddressAllow of a unit) and the receiver's load, or raise --timeout"}},
		{"no token file", Receiver{Endpoint: serve(status(200)), TokenFile: "/nonexistent/token"}, []string{
			"cannot send to URL", "--bearer-token: open /nonexistent/token: no such file or directory",
			"; name a file with the token"}},
		{"wrong token", Receiver{Endpoint: serve(status(401))}, []string{
			"URL refuses messages, which are dropped and counted (unauthorized)", "401 Unauthorized", "; check --bearer-token"}},
		{"no pipeline", Receiver{Endpoint: serve(status(404))}, []string{
			"URL refuses messages, which are dropped and counted (not_found)", "404 Not Found", "a pipeline of profiles"}},
		{"not understood", Receiver{Endpoint: serve(status(400))}, []string{
			"URL refuses messages, which are dropped and counted (refused)", "400 Bad Request", "; see the receiver's log"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.to.Protocol == "" {
				c.to.Protocol = HTTP
			}
			if c.to.Timeout == 0 {
				c.to.Timeout = time.Minute
			}
			client, err := newClient(c.to)
			if err != nil {
				t.Fatal(err)
			}
			var got said
			s := newSender(client, &Metrics{}, nil, 1<<20, c.to, got.say)
			for range 3 {
				s.enqueue(messageOf(1), 1)
				s.sendWaiting(t.Context())
			}
			if len(got) != 1 {
				t.Fatalf("%q", got)
			}
			checkOrder(t, got[0], c.to.Endpoint, c.wants)
		})
	}
}

func checkOrder(t *testing.T, message, endpoint string, parts []string) {
	t.Helper()
	if strings.Contains(message, "\n") {
		t.Errorf("several lines: %q", message)
	}
	rest := message
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, strings.ReplaceAll(part, "URL", endpoint))
		if !ok {
			t.Fatalf("%q is missing, or not in its place, in %q", part, message)
		}
		rest = after
	}
}

func TestLossesAndLimitsAreSaidWithTheirRemedy(t *testing.T) {
	const endpoint = "http://user:secret@collector:4317"
	away := &receiver{answer: func([]byte) (reply, *failure) {
		return reply{}, &failure{kind: retryable, err: errors.New("away")}
	}}
	body := messageOf(30_000)
	size := int64(len(gzipCompress(body)))
	sender := func(r client, s *spool, limit int) (*sender, *said) {
		got := &said{}
		return newSender(r, &Metrics{}, s, limit, Receiver{Endpoint: endpoint, Timeout: time.Minute}, got.say), got
	}
	check := func(got *said, n int, parts ...string) {
		t.Helper()
		if len(*got) != n {
			t.Fatalf("%d messages: %q", len(*got), *got)
		}
		checkOrder(t, (*got)[n-1], "http://user:xxxxx@collector:4317", parts)
	}

	s, got := sender(away, nil, 1<<20)
	for range maxWaitingBytes/size + 3 {
		s.enqueue(body, 30_000)
	}
	check(got, 1, "the queue for URL is full: the oldest messages are dropped and counted (full)",
		"; give a directory with --spool")

	dir := t.TempDir()
	sp, err := openSpool(dir, 2*size)
	if err != nil {
		t.Fatal(err)
	}
	s, got = sender(away, sp, 1<<20)
	for range 5 {
		s.enqueue(body, 30_000)
		s.sendWaiting(t.Context())
	}
	check(got, 2, "the queue for URL is full", "; raise --spool-size")

	files, _ := filepath.Glob(dir + "/*")
	if err := os.WriteFile(files[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.sendWaiting(t.Context())
	check(got, 3, "--spool "+dir+": ", "is damaged and removed, 30000 intervals are lost (damaged): ", "; check the disk")

	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s.enqueue(body, 30_000)
	check(got, 4, "--spool "+dir+": ", "no such file or directory; messages wait in memory, up to 8 MiB",
		"; give another directory")

	taking := &receiver{answer: func([]byte) (reply, *failure) { return reply{rejected: 2, why: "two"}, nil }}
	s, got = sender(taking, nil, 1<<20)
	for range 2 {
		s.enqueue(body, 30_000)
		s.sendWaiting(t.Context())
	}
	check(got, 2, "URL rejected 1 profiles of a message, which are lost and counted: two; see the receiver's log")

	small := &receiver{answer: func(body []byte) (reply, *failure) {
		if len(body) > minMessage {
			return reply{}, &failure{kind: tooLarge, err: errors.New("too large")}
		}
		return reply{}, nil
	}}
	s, got = sender(small, nil, 1<<20)
	s.enqueue(messageOf(6000), 6000)
	s.sendWaiting(t.Context())
	check(got, 2, "URL takes messages")
	*got = (*got)[:1]
	check(got, 1, "URL refuses a message of ", " bytes as too large: messages have at most 65536 from now on",
		"; set --max-message 65536, or raise the receiver's limit")
	s.limit = 16
	s.enqueue(messageOf(1), 1)
	check(got, 2, "one interval takes ", "more than a message may have (lowered after the receiver refused one, 16): ",
		"it is dropped and counted (too_large); raise the receiver's limit, then start the agent again")

	s, got = sender(taking, nil, 1<<20)
	s.limit = 16
	s.enqueue(messageOf(1), 1)
	s.enqueue(messageOf(1), 1)
	check(got, 1, "one interval takes ", "it is dropped and counted (too_large); raise --max-message")
}

func TestUnusableSpoolsAreRefusedWithTheRemedy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openSpool(file+"/spool", 1<<20); err == nil {
		t.Error("a spool below a file was opened")
	} else {
		checkOrder(t, err.Error(), "", []string{"--spool " + file + "/spool: ", "not a directory; give another directory"})
	}
	dir := t.TempDir()
	used := testSpool(t, dir, 1<<20)
	if _, err := openSpool(dir, 1<<20); err == nil ||
		err.Error() != "--spool "+dir+": another agent uses it; give another directory" {
		t.Errorf("the spool of another agent: %v", err)
	}
	used.close()
	testSpool(t, dir, 1<<20).close()
	for err, want := range map[error]string{
		unix.ENOSPC: "free space", unix.EACCES: "user can write", unix.EROFS: "user can write",
		unix.EIO: "give another directory",
	} {
		if got := spoolStep(&os.PathError{Op: "open", Path: "x", Err: err}); !strings.Contains(got, want) {
			t.Errorf("%v: %s", err, got)
		}
	}
}

func TestAnEndpointThatIsNoURLIsShownWithoutItsPassword(t *testing.T) {
	for _, begin := range []string{"http://", "http//", ""} {
		endpoint := begin + "user:secret@host:port"
		_, err := newClient(Receiver{Endpoint: endpoint})
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "host:port") {
			t.Errorf("error %v, want one with the host and without the password", err)
		}
	}
}
