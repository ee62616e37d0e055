// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	pprof "github.com/google/pprof/profile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"prywalk/internal/base/protobuf"
	"prywalk/internal/store/otlp"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/tracer"
)

func messageOf(points int) []byte {
	var m, r, scope, p, s protobuf.Message
	d := otlp.NewDictionary(nil)
	rng := rand.New(rand.NewPCG(1, 2))
	list, times := make([]int64, points), make([]uint64, points)
	for i := range list {
		list[i], times[i] = rng.Int64(), rng.Uint64()
	}
	s.Int(1, d.Stack([]int64{d.Location(&pprof.Location{Address: 1,
		Line: []pprof.Line{{Function: &pprof.Function{Name: "f"}}}})}))
	s.Ints(4, list)
	s.Fixeds(5, times)
	p.Bytes(1, d.ValueType("cpu", "nanoseconds"))
	p.Bytes(2, s)
	scope.Bytes(2, p)
	r.Bytes(2, scope)
	m.Bytes(1, r)
	m.Bytes(2, d.Message())
	return m
}

type receiver struct {
	answer func(body []byte) (reply, *failure)
	points int
	sizes  []int
}

func (r *receiver) send(_ context.Context, body []byte) (reply, *failure) {
	of, f := r.answer(body)
	if f == nil {
		n, err := otlp.Points(body)
		if err != nil {
			panic(err)
		}
		r.points += n
		r.sizes = append(r.sizes, len(body))
	}
	return of, f
}

func quietly(string, ...any) {}

func newTestSender(r client, s *spool, limit int) (*sender, *Metrics) {
	m := &Metrics{}
	return newSender(r, m, s, limit, Receiver{Timeout: time.Minute}, quietly), m
}

func lostFor(m *Metrics, why string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost[why]
}

func TestMessagesThatTheReceiverFindsTooLargeAreDivided(t *testing.T) {
	const most = 4 << 20
	r := &receiver{answer: func(body []byte) (reply, *failure) {
		if len(body) > most {
			return reply{}, &failure{kind: tooLarge, err: errors.New("too large")}
		}
		return reply{}, nil
	}}
	s, m := newTestSender(r, nil, 64<<20)
	const points = 240_000
	body := messageOf(points)
	room := most + 1 - len(body) - 2 - 3 // for an unknown field: a key of two bytes, a length of three
	if room < 1<<14 {
		t.Fatalf("%d bytes are too many for the test", len(body))
	}
	body = append(binary.AppendUvarint(binary.AppendUvarint(body, 100<<3|2), uint64(room)), make([]byte, room)...)
	s.enqueue(body, points)
	if wait := s.sendWaiting(t.Context()); wait != 0 || r.points != points || len(r.sizes) < 2 {
		t.Errorf("%d points in messages of %v bytes", r.points, r.sizes)
	}
	if limit := m.limit.Load(); limit > int64(len(body)/2) || m.Lost() != 0 {
		t.Errorf("the limit is %d, lost: %d", limit, m.Lost())
	}
}

func TestASmallMessageThatIsTooLargeIsDropped(t *testing.T) {
	first := true
	r := &receiver{answer: func([]byte) (reply, *failure) {
		if first {
			first = false
			return reply{}, &failure{kind: tooLarge, err: errors.New("too large")}
		}
		return reply{}, nil
	}}
	s, m := newTestSender(r, nil, 1<<20)
	s.enqueue(messageOf(1), 1)
	s.enqueue(messageOf(2), 2)
	if wait := s.sendWaiting(t.Context()); wait != 0 || r.points != 2 || m.lost[lostTooLarge] != 1 {
		t.Errorf("wait %v, %d points came, %v are lost", wait, r.points, m.lost)
	}
}

func TestNoMessageIsLargerThanAsked(t *testing.T) {
	r := &receiver{answer: func([]byte) (reply, *failure) { return reply{}, nil }}
	s, m := newTestSender(r, nil, minMessage)
	s.enqueue(messageOf(100_000), 100_000)
	s.sendWaiting(t.Context())
	for _, size := range r.sizes {
		if size > minMessage {
			t.Errorf("a message of %d bytes", size)
		}
	}
	if sent, _ := m.Sent(); r.points != 100_000 || sent != 100_000 {
		t.Errorf("%d points came, %d are counted", r.points, sent)
	}
}

func TestIntervalsOfADividedMessageAreSharedByPoints(t *testing.T) {
	for _, intervals := range []int{5_000, 10_000, 20_000, 40_000} {
		first := true
		r := &receiver{answer: func([]byte) (reply, *failure) {
			if first {
				first = false
				return reply{}, &failure{kind: refused, err: errors.New("refused")}
			}
			return reply{}, nil
		}}
		s, m := newTestSender(r, nil, 1<<20)
		body := messageOf(20_000)
		s.limit = len(body) * 3 / 4
		s.enqueue(body, intervals)
		s.sendWaiting(t.Context())
		if sent, _ := m.Sent(); sent != int64(intervals/2) || m.Lost() != int64(intervals/2) {
			t.Errorf("of %d intervals %d are sent and %d lost, want half and half", intervals, sent, m.Lost())
		}
	}
}

func TestIntervalsOfRejectedProfilesAreLost(t *testing.T) {
	one := messageOf(300) // with one profile
	three := bytes.Clone(one)
	for range 2 { // a repeated resource of protobuf messages that are joined
		three = append(three, one...)
	}
	for _, c := range []struct {
		body     []byte
		rejected int64
		lost     int64
	}{
		{one, 0, 0}, {one, 1, 100}, {one, 2, 100}, {three, 1, 34}, {three, 2, 67}, {three, 3, 100},
		{three, math.MaxInt64, 100},
	} {
		r := &receiver{answer: func([]byte) (reply, *failure) { return reply{rejected: c.rejected}, nil }}
		s, m := newTestSender(r, nil, 1<<20)
		s.enqueue(c.body, 100)
		s.sendWaiting(t.Context())
		if sent, _ := m.Sent(); sent != 100-c.lost || lostFor(m, lostRejected) != c.lost {
			t.Errorf("%d profiles rejected: %d intervals sent, %d lost; want %d of 100 lost", c.rejected, sent,
				lostFor(m, lostRejected), c.lost)
		}
	}
}

func TestMessagesWaitWhileTheReceiverIsAway(t *testing.T) {
	away := true
	r := &receiver{answer: func([]byte) (reply, *failure) {
		if away {
			return reply{}, &failure{kind: retryable, notBefore: 7 * time.Second, err: errors.New("away")}
		}
		return reply{rejected: 2, why: "two"}, nil
	}}
	dir := t.TempDir()
	sp, err := openSpool(dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	s, m := newTestSender(r, sp, 1<<20)
	for range 5 {
		s.enqueue(messageOf(1000), 1000)
		if wait := s.sendWaiting(t.Context()); wait != 7*time.Second {
			t.Errorf("again after %s", wait)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 5 || m.waiting.Load() != 5 {
		t.Errorf("%d files, %d wait", len(files), m.waiting.Load())
	}
	files, _ := filepath.Glob(dir + "/*")
	if err := os.WriteFile(files[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/notes.txt", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	away = false
	sp.close()
	if sp, err = openSpool(dir, 1<<30); err != nil {
		t.Fatal(err)
	}
	s, m = newTestSender(r, sp, 1<<20)
	s.sendWaiting(t.Context())
	if r.points != 4000 || lostFor(m, lostDamaged) != 1000 || m.rejected.Load() != 4 || m.waiting.Load() != 0 {
		t.Errorf("%d points, %d lost, %d profiles rejected, %d wait", r.points, m.Lost(), m.rejected.Load(), m.waiting.Load())
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
}

func TestTheSenderSaysWhatHappensToMessages(t *testing.T) {
	away := true
	r := &receiver{answer: func([]byte) (reply, *failure) {
		if away {
			return reply{}, &failure{kind: retryable, err: errors.New("away")}
		}
		return reply{}, nil
	}}
	dir := t.TempDir()
	run := func(f func(s *sender)) (says []string) {
		sp, err := openSpool(dir, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		s := newSender(r, &Metrics{}, sp, 1<<20, Receiver{Endpoint: "http://there", Timeout: time.Minute},
			func(format string, args ...any) { says = append(says, fmt.Sprintf(format, args...)) })
		f(s)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		s.finish(ended)
		return says
	}
	send := func(s *sender, is bool) {
		away = is
		s.enqueue(messageOf(10), 10)
		s.sendWaiting(t.Context())
	}
	const cannot = "cannot send to http://there, messages wait and are sent again: away; " +
		"check --endpoint and --protocol: 4317 is the usual port for grpc, 4318 for http"
	says := run(func(s *sender) { send(s, true); send(s, true) })
	if want := []string{
		cannot, "--spool " + dir + ": messages that wait for the next agent: 2",
	}; !slices.Equal(says, want) {
		t.Errorf("an agent whose receiver is away says %q, want %q", says, want)
	}
	says = run(func(s *sender) { send(s, false); send(s, false); send(s, true); send(s, false) })
	if want := []string{
		"--spool " + dir + ": messages of an earlier agent, which are sent first: 2", "http://there takes messages", cannot,
		"http://there takes messages again",
	}; !slices.Equal(says, want) {
		t.Errorf("the next agent says %q, want %q", says, want)
	}
}

func TestWhatWaitsIsBounded(t *testing.T) {
	r := &receiver{answer: func([]byte) (reply, *failure) {
		return reply{}, &failure{kind: retryable, err: errors.New("away")}
	}}
	body := messageOf(30_000)
	size := int64(len(gzipCompress(body)))
	sp, err := openSpool(t.TempDir(), 3*size)
	if err != nil {
		t.Fatal(err)
	}
	s, m := newTestSender(r, sp, 1<<20)
	for range 10 {
		s.enqueue(body, 30_000)
		s.sendWaiting(t.Context())
	}
	if m.waitingBytes.Load() > 3*size || lostFor(m, lostFull) != 7*30_000 {
		t.Errorf("%d bytes wait, lost: %d", m.waitingBytes.Load(), lostFor(m, lostFull))
	}
	s, m = newTestSender(r, nil, 1<<20)
	for range maxWaitingBytes/size + 10 {
		s.enqueue(body, 30_000)
	}
	if m.waitingBytes.Load() > maxWaitingBytes || lostFor(m, lostFull) == 0 || lostFor(m, lostFull)%30_000 != 0 {
		t.Errorf("%d bytes wait, lost: %d", m.waitingBytes.Load(), lostFor(m, lostFull))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if left := s.finish(ctx); left == 0 || int64(left) != lostFor(m, lostAtEnd) || m.waiting.Load() != 0 {
		t.Errorf("%d are left, %d counted, %d wait", left, lostFor(m, lostAtEnd), m.waiting.Load())
	}
}

type slowReceiver struct {
	came, release chan struct{}
	taken         int
}

func (r *slowReceiver) send(ctx context.Context, _ []byte) (reply, *failure) {
	r.came <- struct{}{}
	r.taken++ // it has the message, whether or not its answer arrives
	select {
	case <-r.release:
		return reply{}, nil
	case <-ctx.Done():
		return reply{}, &failure{kind: retryable, err: ctx.Err()}
	}
}

func TestAMessageUnderWayAtTheEndIsSentOnce(t *testing.T) {
	r := &slowReceiver{came: make(chan struct{}, 9), release: make(chan struct{})}
	s, m := newTestSender(r, nil, 1<<20)
	s.enqueue(messageOf(10), 10)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		s.run(t.Context(), stop)
	}()
	bounded.Receive(t, "a message comes", r.came)
	close(stop)
	close(r.release)
	bounded.Receive(t, "the sender ends", ended)
	if left := s.finish(t.Context()); left != 0 || r.taken != 1 || m.messages.Load() != 1 {
		t.Errorf("%d are left, the receiver has %d messages, %d are counted", left, r.taken, m.messages.Load())
	}
}

func TestAnswersOfOTLPOverHTTP(t *testing.T) {
	for status, want := range map[int]failureKind{
		400: refused, 401: refused, 403: refused, 404: refused, 408: refused, 413: tooLarge, 429: retryable,
		500: refused, 502: retryable, 503: retryable, 504: retryable,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			text, err := gzipDecompress(body, 100)
			if err != nil || string(text) != "body" || r.URL.Path != "/base/v1development/profiles" ||
				r.Method != http.MethodPost ||
				r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("Content-Encoding") != "gzip" {
				t.Errorf("%s %s %v %q", r.Method, r.URL, r.Header, body)
			}
			w.Header().Set("Retry-After", "3")
			http.Error(w, "because\x1b", status)
		}))
		c, err := newClient(Receiver{Endpoint: server.URL + "/base", Protocol: HTTP})
		if err != nil {
			t.Fatal(err)
		}
		_, f := c.send(t.Context(), []byte("body"))
		if f == nil || f.kind != want || want == retryable && f.notBefore != 3*time.Second ||
			!strings.Contains(f.err.Error(), strconv.Itoa(status)) || strings.Contains(f.err.Error(), "\x1b") {
			t.Errorf("%d: %+v", status, f)
		}
		server.Close()
		if _, f := c.send(t.Context(), []byte("body")); f == nil || f.kind != retryable {
			t.Errorf("no listener: %+v", f)
		}
	}
}

// A receiver that never answers TLS must not collect connections, one for each attempt.
func TestConnectionToAReceiverThatIsSilentInTLSIsClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, protocol := range []string{HTTP, GRPC} {
		c, err := newClient(Receiver{Endpoint: "https://" + l.Addr().String(), Protocol: protocol,
			Timeout: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, f := c.send(ctx, []byte("body")); f == nil || f.kind != retryable {
			t.Errorf("%s: %+v", protocol, f)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("%s: %v, want the end of the connection", protocol, err)
		}
		_ = conn.Close()
	}
}

func TestWhatAReceiverSendsUnaskedIsInNoLog(t *testing.T) {
	var written bytes.Buffer
	log.SetOutput(&written)
	defer log.SetOutput(os.Stderr)
	ended := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"+strings.Repeat("\x1b[31mW", 500))
			err = conn.SetReadDeadline(time.Now().Add(time.Minute))
		}
		if err == nil { // until the client has read the rest
			_, err = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
		ended <- err
	}))
	defer server.Close()
	c, err := newClient(Receiver{Endpoint: server.URL, Protocol: HTTP})
	if err != nil {
		t.Fatal(err)
	}
	if _, f := c.send(t.Context(), []byte("body")); f != nil {
		t.Fatal(f.err)
	}
	err = bounded.Receive(t, "the receiver's connection ends", ended)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v, want the end of the connection", err)
	}
	if written.Len() > 0 {
		t.Errorf("%d bytes in the log: %.80q", written.Len(), written.String())
	}
}

func TestTokenIsReadForEachMessage(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "token")
	c, err := newClient(Receiver{Endpoint: server.URL, Protocol: HTTP, TokenFile: file})
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"first", "second"} {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, f := c.send(t.Context(), []byte("body")); f != nil {
			t.Fatal(f.err)
		}
	}
	if want := []string{"Bearer first", "Bearer second"}; !slices.Equal(got, want) {
		t.Errorf("tokens %q, want %q", got, want)
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	for version, want := range map[uint16]string{
		tls.VersionTLS11: "protocol version", tls.VersionTLS12: "unknown authority",
	} {
		server := httptest.NewUnstartedServer(status(200))
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: version}
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		c, err := newClient(Receiver{Endpoint: server.URL, Protocol: HTTP, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if _, f := c.send(t.Context(), []byte("body")); f == nil || !strings.Contains(f.err.Error(), want) {
			t.Errorf("a receiver of TLS %#x: %+v, want %q", version, f, want)
		}
		server.Close()
	}
}

func TestRepliesOfAHostileGRPCReceiverAreBounded(t *testing.T) {
	frame := func(compressed byte, body []byte, length uint32) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{compressed}, length), body...)
	}
	bomb := gzipCompress(make([]byte, 50<<20))
	delay := func(seconds uint64) string {
		var d, info, detail, status protobuf.Message
		d.Int(1, int64(seconds))
		info.Bytes(1, d)
		detail.Bytes(1, []byte("type.googleapis.com/google.rpc.RetryInfo"))
		detail.Bytes(2, info)
		status.Bytes(3, detail)
		return base64.StdEncoding.EncodeToString(status)
	}
	rejected := []byte{0x0a, 10, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}
	const retry, no, accepted = retryable, refused, failureKind(-1)
	for name, c := range map[string]struct {
		body    []byte
		endless bool
		trailer map[string]string
		want    failureKind
	}{
		"a reply without end":       {nil, true, nil, retry},
		"no status":                 {nil, false, nil, retry},
		"a status that is none":     {nil, false, map[string]string{"Grpc-Status": "-1"}, retry},
		"a status that is too long": {nil, false, map[string]string{"Grpc-Status": strings.Repeat("9", 1000)}, retry},
		"a status that is unknown":  {nil, false, map[string]string{"Grpc-Status": "77"}, no},
		"a long message": {nil, false, map[string]string{"Grpc-Status": "3",
			"Grpc-Message": strings.Repeat("%1B%5B31m%E2%80%AE", 2000)}, no},
		"trailers beyond the limit": {nil, false, map[string]string{"Grpc-Status": "3",
			"Grpc-Message": strings.Repeat("W", 4*maxReply)}, retry},
		"a message of broken escapes": {nil, false, map[string]string{"Grpc-Status": "3", "Grpc-Message": "%zz\x80"}, no},
		"a pause of 68 years": {nil, false, map[string]string{"Grpc-Status": "14",
			"Grpc-Status-Details-Bin": delay(math.MaxInt32 - 1)}, retry},
		"a pause beyond any": {nil, false, map[string]string{"Grpc-Status": "14",
			"Grpc-Status-Details-Bin": delay(math.MaxInt64)}, retry},
		"details that are none": {nil, false, map[string]string{"Grpc-Status": "14",
			"Grpc-Status-Details-Bin": "\xff\xff=!"}, retry},
		"a bomb": {frame(1, bomb, uint32(len(bomb))), false, map[string]string{"Grpc-Status": "0"}, accepted},
		"a length beyond the reply": {frame(0, nil, math.MaxUint32), false, map[string]string{"Grpc-Status": "0"},
			accepted},
		"rejections beyond any": {frame(0, rejected, uint32(len(rejected))), false,
			map[string]string{"Grpc-Status": "0"}, accepted},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Grpc-Encoding", "gzip")
				_, err := w.Write(c.body)
				for err == nil && c.endless {
					_, err = w.Write(make([]byte, 1<<16))
				}
				for key, value := range c.trailer {
					w.Header().Set(http.TrailerPrefix+key, value)
				}
			}))
			server.Config.Protocols = new(http.Protocols)
			server.Config.Protocols.SetUnencryptedHTTP2(true)
			server.Start()
			defer server.Close()
			client, err := newClient(Receiver{Endpoint: server.URL, Protocol: GRPC, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			got, f := client.send(t.Context(), []byte("body"))
			switch {
			case (f == nil) != (c.want == accepted) || f != nil && f.kind != c.want:
				t.Errorf("%+v, want failure %d", f, c.want)
			case f != nil && (f.pause() < 0 || f.pause() > maxRetryAfter || len(f.err.Error()) > 8*maxReceiversText ||
				strings.ContainsAny(f.err.Error(), "\x1b\u202e")):
				t.Errorf("pause %s, %.100q", f.pause(), f.err)
			case got.rejected < 0:
				t.Errorf("%d rejected", got.rejected)
			}
		})
	}
}

type asWritten struct{}

func (asWritten) Name() string { return "proto" }

func (asWritten) Marshal(m any) ([]byte, error) {
	if status, ok := m.(proto.Message); ok {
		return proto.Marshal(status)
	}
	return *m.(*[]byte), nil
}

func (asWritten) Unmarshal(b []byte, m any) error {
	*m.(*[]byte) = bytes.Clone(b)
	return nil
}

func TestAnswersOfOTLPOverGRPC(t *testing.T) {
	var answer error
	mux := http.NewServeMux()
	mux.Handle(profilesProcedure, connect.NewUnaryHandler(profilesProcedure,
		func(_ context.Context, r *connect.Request[[]byte]) (*connect.Response[[]byte], error) {
			if !bytes.Equal(*r.Msg, []byte("body")) {
				t.Errorf("%q", *r.Msg)
			}
			text := []byte{0x0a, 4, 0x08, 2, 0x12, 0}
			return connect.NewResponse(&text), answer
		}, connect.WithCodec(asWritten{})))
	server := httptest.NewUnstartedServer(mux)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	c, err := newClient(Receiver{Endpoint: server.URL, Protocol: GRPC})
	if err != nil {
		t.Fatal(err)
	}
	if of, f := c.send(t.Context(), []byte("body")); f != nil || of.rejected != 2 {
		t.Errorf("%+v, %+v", of, f)
	}
	for code, want := range map[connect.Code]failureKind{
		connect.CodeResourceExhausted: tooLarge, connect.CodeUnavailable: retryable, connect.CodeDeadlineExceeded: retryable,
		connect.CodeUnauthenticated: refused, connect.CodeInvalidArgument: refused, connect.CodeInternal: refused,
	} {
		answer = connect.NewError(code, errors.New("because"))
		_, f := c.send(t.Context(), []byte("body"))
		if f == nil || f.kind != want || !strings.Contains(f.err.Error(), "because") {
			t.Errorf("%s: %+v", code, f)
		}
	}
	for delay, info := range map[time.Duration][]byte{
		0:                       nil,
		1500 * time.Millisecond: {0x0a, 8, 0x08, 1, 0x10, 0x80, 0xca, 0xb5, 0xee, 0x01},
	} {
		busy := connect.NewError(connect.CodeResourceExhausted, errors.New("because"))
		detail, err := connect.NewErrorDetail(&anypb.Any{
			TypeUrl: "type.googleapis.com/google.rpc.RetryInfo", Value: info,
		})
		if err != nil {
			t.Fatal(err)
		}
		busy.AddDetail(detail)
		answer = busy
		if _, f := c.send(t.Context(), []byte("body")); f == nil || f.kind != retryable || f.notBefore != delay {
			t.Errorf("busy: %+v", f)
		}
	}
}

func TestAcceptedMessagesAreNotSentAgain(t *testing.T) {
	for name, write := range map[string]func(http.ResponseWriter){
		"unknown compression": func(w http.ResponseWriter) {
			w.Header().Set("Grpc-Encoding", "zstd")
			_, _ = w.Write([]byte{1, 0, 0, 0, 1, 0})
		},
		"no message": func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK) },
		"damaged":    func(w http.ResponseWriter) { _, _ = w.Write([]byte{0, 0, 0, 0, 2, 0, 0}) },
	} {
		for _, protocol := range []string{GRPC, HTTP} {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Trailer", "Grpc-Status")
				write(w)
				w.Header().Set("Grpc-Status", "0")
			}))
			server.Config.Protocols = new(http.Protocols)
			server.Config.Protocols.SetHTTP1(true)
			server.Config.Protocols.SetUnencryptedHTTP2(true)
			server.Start()
			c, err := newClient(Receiver{Endpoint: server.URL, Protocol: protocol})
			if err != nil {
				t.Fatal(err)
			}
			if of, f := c.send(t.Context(), []byte("body")); f != nil || of.rejected != 0 {
				t.Errorf("%s, %s: %+v, %+v", name, protocol, of, f)
			}
			server.Close()
		}
	}
}

// The status of OTLP/HTTP precedes the body.
func TestAnAcceptedMessageWhoseReplyIsCutOffIsNotSentAgain(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("half"))
	}))
	defer server.Close()
	c, err := newClient(Receiver{Endpoint: server.URL, Protocol: HTTP})
	if err != nil {
		t.Fatal(err)
	}
	if _, f := c.send(t.Context(), []byte("body")); f != nil {
		t.Errorf("%+v", f)
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "12": 12 * time.Second, "-1": 0, "soon": 0, "99999999999": 0,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestMetricsAreText(t *testing.T) {
	m := &Metrics{Sampling: func() Sampling {
		return Sampling{tracer.Progress{Threads: 3}, 0, map[string]int64{"denied": 2}}
	}}
	m.addLost(lostFull, 4)
	var out bytes.Buffer
	m.writeText(&out)
	types := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSpace(line)
		if f := strings.Fields(line); f[0] == "#" {
			types[f[2]] = true
		} else if name, _, _ := strings.Cut(f[0], "{"); !types[name] || len(f) != 2 {
			t.Errorf("%q", line)
		}
	}
	for _, want := range []string{
		`prywalk_lost_intervals_total{reason="full"} 4`, `prywalk_lost_intervals_total{reason="shutdown"} 0`,
		"prywalk_threads 3", `prywalk_refused_processes_total{reason="denied"} 2`,
	} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
}

func TestAMessageLargerThanTheSpoolIsSent(t *testing.T) {
	sp, err := openSpool(t.TempDir(), 100)
	if err != nil {
		t.Fatal(err)
	}
	leave(t, sp, 1000)
	r := &receiver{answer: func([]byte) (reply, *failure) { return reply{}, nil }}
	s, m := newTestSender(r, sp, 1<<20)
	if wait := s.sendWaiting(t.Context()); wait != 0 || r.points != 1000 || m.Lost() != 0 {
		t.Errorf("wait %v, %d points came, %d are lost", wait, r.points, m.Lost())
	}
}

func TestASpoolWithMoreThanItsSizeLosesTheOldest(t *testing.T) {
	dir := t.TempDir()
	sp, err := openSpool(dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	leave(t, sp, 1000, 1001, 1002, 1003)
	sp.close()
	if sp, err = openSpool(dir, sp.left[2].size+sp.left[3].size); err != nil {
		t.Fatal(err)
	}
	s, m := newTestSender(&receiver{}, sp, 1<<20)
	if left := s.queue.list; len(left) != 2 || left[0].intervals != 1002 || lostFor(m, lostFull) != 1000+1001 {
		t.Errorf("%d files are left, %d intervals counted as lost", len(left), lostFor(m, lostFull))
	}
}

func TestAReceiverMayAskForAPauseOfAnHourAtMost(t *testing.T) {
	r := &receiver{answer: func([]byte) (reply, *failure) {
		return reply{}, &failure{kind: retryable, notBefore: 68 * 365 * 24 * time.Hour, err: errors.New("away")}
	}}
	s, _ := newTestSender(r, nil, 1<<20)
	s.enqueue(messageOf(10), 10)
	if wait := s.sendWaiting(t.Context()); wait != time.Hour {
		t.Errorf("the next attempt is after %s, want 1h", wait)
	}
}

func TestReceiverWritesLittleIntoTheLogAndNoCountIsWrong(t *testing.T) {
	const n = 100
	r := &receiver{}
	r.answer = func([]byte) (reply, *failure) {
		why := fmt.Sprint(r.points, strings.Repeat("\x1b[31mW", 30_000))
		return reply{rejected: math.MaxInt64 - int64(r.points), why: why}, nil
	}
	var got said
	m := &Metrics{}
	s := newSender(r, m, nil, 1<<20, Receiver{Timeout: time.Minute}, got.say)
	profiles, err := otlp.Profiles(messageOf(10))
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		s.enqueue(messageOf(10), 10)
		s.sendWaiting(t.Context())
	}
	if is := m.rejected.Load(); is != int64(n*profiles) || lostFor(m, lostRejected) != n*10 || m.intervals.Load() != 0 {
		t.Errorf("%d profiles and %d intervals are rejected, %d sent; want %d, %d and none", is, lostFor(m, lostRejected),
			m.intervals.Load(), n*profiles, n*10)
	}
	if len(got) > 2*maxReportedRejections {
		t.Errorf("%d lines", len(got))
	}
	status := httpFailure(&http.Response{StatusCode: 500, Status: "500 " + strings.Repeat("\u202e", 1<<20)}, nil)
	for _, line := range append(got, status.err.Error()) {
		if len(line) > 8*maxReceiversText || strings.ContainsAny(line, "\x1b\u202e") {
			t.Errorf("a line of %d bytes: %.80q", len(line), line)
		}
	}
}
