// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestTheMessageThatIsBeingSentIsNotDropped(t *testing.T) {
	const intervals = 30_000
	body := messageOf(intervals)
	size := int64(len(gzipCompress(body)))
	for name, first := range map[string]*failure{
		"accepted": nil, "refused": {kind: refused, err: errors.New("no")},
		"too large": {kind: tooLarge, err: errors.New("no")}, "away": {kind: retryable, err: errors.New("away")},
	} {
		var s *sender
		added := int64(0)
		r := &receiver{}
		r.answer = func([]byte) (reply, *failure) {
			if added > 1 {
				return reply{}, nil
			}
			for range maxWaitingBytes/size + 3 {
				s.add(body, intervals, 1)
				added++
			}
			return reply{}, first
		}
		var m *Metrics
		s, m = newTestSender(r, 1<<20)
		s.add(body, intervals, 1)
		added = 1
		for s.sendWaiting(t.Context()) > 0 {
		}
		sent, _ := m.Sent()
		if all := added * intervals; sent+m.Lost() != all || sent < intervals || m.waiting.Load() != 0 {
			t.Errorf("%s: of %d intervals %d are sent, %d lost", name, all, sent, m.Lost())
		}
		if first == nil && r.points != int(sent) {
			t.Errorf("%s: %d points came, %d are counted as sent", name, r.points, sent)
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
	s, m := newTestSender(r, 1<<20)
	for range 5 {
		s.add(body, 30_000, 1)
	}
	s.sendWaiting(t.Context())
	if limit := m.limit.Load(); limit != int64(len(body)/2) || refusals != 5 || lostFor(m, lostTooLarge) != 5*30_000 {
		t.Errorf("%d refusals, the limit is %d, want %d; %d points came", refusals, limit, len(body)/2, r.points)
	}
}

func TestTheEndRespectsThePauseThatTheReceiverAsksFor(t *testing.T) {
	attempts := make(chan struct{}, 99)
	r := &receiver{answer: func([]byte) (reply, *failure) {
		attempts <- struct{}{}
		return reply{}, &failure{kind: retryable, notBefore: time.Hour, err: errors.New("busy")}
	}}
	s, m := newTestSender(r, 1<<20)
	s.add(messageOf(10), 10, 1)
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
