// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func testSpool(t *testing.T, dir string, most int64) *spool {
	t.Helper()
	sp, err := openSpool(dir, most)
	if err != nil {
		t.Fatal(err)
	}
	return sp
}

func TestTheMessageThatIsBeingSentIsNotDropped(t *testing.T) {
	const intervals = 30_000
	body := messageOf(intervals)
	size := int64(len(gzipCompress(body)))
	for name, first := range map[string]*failure{
		"accepted": nil, "refused": {kind: refused, err: errors.New("no")},
		"too large": {kind: tooLarge, err: errors.New("no")}, "away": {kind: retryable, err: errors.New("away")},
	} {
		for _, dir := range []string{"", t.TempDir()} {
			var s *sender
			added := int64(0)
			r := &receiver{}
			r.answer = func([]byte) (reply, *failure) {
				if added > 1 {
					return reply{}, nil
				}
				for range maxWaitingBytes/size + 3 {
					s.enqueue(body, intervals)
					added++
				}
				return reply{}, first
			}
			var sp *spool
			if dir != "" {
				sp = testSpool(t, dir, 3*size)
				if _, err := sp.put(newMessage(body, intervals), 0); err != nil {
					t.Fatal(err)
				}
				added = 1
			}
			var m *Metrics
			s, m = newTestSender(r, sp, 1<<20)
			if dir == "" {
				s.enqueue(body, intervals)
				added = 1
			}
			for s.sendWaiting(t.Context()) > 0 {
			}
			sent, _ := m.Sent()
			if all := added * intervals; sent+m.Lost() != all || sent < intervals || m.waiting.Load() != 0 {
				t.Errorf("%s, spool %q: of %d intervals %d are sent, %d lost", name, dir, all, sent, m.Lost())
			}
			if first == nil && r.points != int(sent) {
				t.Errorf("%s, spool %q: %d points came, %d are counted as sent", name, dir, r.points, sent)
			}
		}
	}
}

func TestOneRefusalHalvesTheLimitOnce(t *testing.T) {
	body := messageOf(30_000)
	refusals := 0
	r := &receiver{answer: func(m []byte) (reply, *failure) {
		if len(m) > len(body)*3/4 {
			refusals++
			return reply{}, &failure{kind: tooLarge, err: errors.New("too large")}
		}
		return reply{}, nil
	}}
	s, m := newTestSender(r, nil, 1<<20)
	for range 5 {
		s.enqueue(body, 30_000)
	}
	s.sendWaiting(t.Context())
	if limit := m.limit.Load(); limit != int64(len(body)/2) || refusals != 1 || r.points != 5*30_000 {
		t.Errorf("%d refusals, the limit is %d, want %d; %d points came", refusals, limit, len(body)/2, r.points)
	}
}

func TestMessagesOfAnEarlierAgentAreWithinTheLimit(t *testing.T) {
	sp := testSpool(t, t.TempDir(), 1<<30)
	if _, err := sp.put(newMessage(messageOf(30_000), 30_000), 0); err != nil {
		t.Fatal(err)
	}
	r := &receiver{answer: func([]byte) (reply, *failure) { return reply{}, nil }}
	s, _ := newTestSender(r, sp, 1<<17)
	s.sendWaiting(t.Context())
	if slices.Max(r.sizes) > 1<<17 || r.points != 30_000 {
		t.Errorf("%d points came in messages of %d bytes", r.points, r.sizes)
	}
}

func TestPartsOfASpooledMessageSurviveTheAgent(t *testing.T) {
	dir := t.TempDir()
	sp := testSpool(t, dir, 1<<30)
	for _, intervals := range []int{10_000, 3} {
		if _, err := sp.put(newMessage(messageOf(intervals), intervals), 0); err != nil {
			t.Fatal(err)
		}
	}
	r := newOrder(t, nil)
	r.answer = func(body []byte) (reply, *failure) {
		switch {
		case len(body) > 1<<17:
			return reply{}, &failure{kind: tooLarge, err: errors.New("too large")}
		case r.points > 0:
			return reply{}, &failure{kind: retryable, err: errors.New("away")}
		}
		return reply{}, nil
	}
	s, _ := newTestSender(r, sp, 1<<20)
	s.sendWaiting(t.Context())
	taken := r.points
	if taken == 0 || taken >= 10_000 {
		t.Fatalf("%d points came, want a part", taken)
	}
	next := newOrder(t, func([]byte) *failure { return nil })
	sp.close()
	s, m := newTestSender(next, testSpool(t, dir, 1<<30), 1<<20)
	s.sendWaiting(t.Context())
	if n := len(next.took); taken+next.points != 10_003 || next.took[n-1] != 3 || m.Lost() != 0 {
		t.Errorf("%d points came before, then messages of %d", taken, next.took)
	}
}

func TestFilesThatCannotBeReadNowStay(t *testing.T) {
	dir := t.TempDir()
	sp := testSpool(t, dir, 1<<30)
	for _, intervals := range []int{1000, 2000, 3000} {
		if _, err := sp.put(newMessage(messageOf(intervals), intervals), 0); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(dir + "/*")
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v", files, err)
	}
	away := filepath.Join(t.TempDir(), "away")
	if err := errors.Join(os.Rename(files[0], away), os.Mkdir(files[0], 0o700), os.Remove(files[1])); err != nil {
		t.Fatal(err)
	}
	r := &receiver{answer: func([]byte) (reply, *failure) { return reply{}, nil }}
	var got said
	m := &Metrics{}
	s := newSender(r, m, sp, 1<<20, Receiver{Timeout: time.Minute}, got.say)
	got = nil
	for range 2 {
		if wait := s.sendWaiting(t.Context()); wait != 0 {
			t.Errorf("the next attempt is after %s, want with the next message", wait)
		}
	}
	if r.points != 3000 || lostFor(m, lostDamaged) != 2000 || m.Lost() != 2000 || m.waiting.Load() != 1 {
		t.Errorf("%d points came, %d lost, %d wait", r.points, m.Lost(), m.waiting.Load())
	}
	if len(got) != 3 {
		t.Fatalf("%q", got)
	}
	checkOrder(t, got[0], "", []string{filepath.Base(files[0]) + " cannot be read now, it stays", "is a directory"})
	checkOrder(t, got[1], "", []string{filepath.Base(files[1]) + " is damaged", "2000 intervals are lost"})
	if err := errors.Join(os.Remove(files[0]), os.Rename(away, files[0])); err != nil {
		t.Fatal(err)
	}
	s.sendWaiting(t.Context())
	if r.points != 4000 || m.Lost() != 2000 || m.waiting.Load() != 0 {
		t.Errorf("%d points came, %d lost, %d wait", r.points, m.Lost(), m.waiting.Load())
	}
}

func TestTheEndRespectsThePauseThatTheReceiverAsksFor(t *testing.T) {
	attempts := make(chan struct{}, 99)
	r := &receiver{answer: func([]byte) (reply, *failure) {
		attempts <- struct{}{}
		return reply{}, &failure{kind: retryable, notBefore: time.Hour, err: errors.New("busy")}
	}}
	s, m := newTestSender(r, nil, 1<<20)
	s.enqueue(messageOf(10), 10)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		s.run(t.Context(), stop)
	}()
	<-attempts
	close(stop)
	<-ended
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if lost := s.finish(ctx); lost != 10 || len(attempts) != 0 || lostFor(m, lostAtEnd) != 10 {
		t.Errorf("%d intervals are lost, %d more attempts, want 10 and none", lost, len(attempts))
	}
}
