// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// Range of --max-message, bytes. Refusals do not lower the limit below minMessage.
	maxMessage      = 1 << 28
	minMessage      = 1 << 16
	minRetryPause   = time.Second
	maxRetryPause   = time.Minute
	minFailurePause = time.Millisecond
)

type sender struct {
	client    client
	metrics   *Metrics
	timeout   time.Duration
	wake      chan struct{}
	notBefore time.Time // of the next attempt; only run's goroutine uses it

	mu           sync.Mutex // guards the rest
	queue        queue
	limit        int // of a message before compression, bytes
	limitLowered bool
}

func newSender(c client, m *Metrics, limit int, to Receiver, logf func(string, ...any)) *sender {
	n := &notices{metrics: m, receiver: redacted(to.Endpoint), logf: logf}
	out := &sender{
		client: c, metrics: m, timeout: to.Timeout, wake: make(chan struct{}, 1), queue: queue{notices: n}, limit: limit,
	}
	out.publishCounts()
	return out
}

// enqueueWindow divides a window whose message is too large; it drops and counts a single point that is.
func (s *sender) enqueueWindow(e *encoder, w *window) {
	s.mu.Lock()
	limit := s.limit
	s.mu.Unlock()
	m := e.encode(w)
	if len(m.body) == 0 {
		return
	}
	if len(m.body) <= limit {
		s.enqueue(&m)
		return
	}
	a, b := w.halves()
	if b == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queue.notices.indivisible(m.intervals, len(m.body), limit, s.limitLowered)
		return
	}
	s.metrics.splits.Add(1)
	s.enqueueWindow(e, a)
	s.enqueueWindow(e, b)
}

func (s *sender) enqueue(m *encoded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.append(m)
	s.publishCounts()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *sender) publishCounts() {
	s.metrics.waiting.Store(int64(len(s.queue.waiting)))
	s.metrics.waitingBytes.Store(int64(s.queue.size))
	s.metrics.limit.Store(int64(s.limit))
}

// run sends until stop is closed and no message can be sent now. It completes an attempt in progress, since the
// receiver may have the message already, unless ctx ends.
func (s *sender) run(ctx context.Context, stop <-chan struct{}) {
	pause := time.Duration(0)
	for {
		wait := s.sendWaiting(ctx)
		s.notBefore = time.Now().Add(wait)
		switch {
		case ctx.Err() != nil:
			return
		case wait > 0:
			pause = min(max(2*pause, minRetryPause), maxRetryPause)
			if !sleep(stop, max(wait, jittered(pause))) {
				return
			}
		default:
			pause = 0
			select {
			case <-s.wake:
			case <-stop:
				return
			}
		}
	}
}

// sleep returns false if done is closed before d has passed.
func sleep(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-done:
		return false
	}
}

func jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.5 + rand.Float64()))
}

// sendWaiting returns the shortest pause before the next attempt; 0: all is sent.
func (s *sender) sendWaiting(ctx context.Context) (wait time.Duration) {
	for {
		s.mu.Lock()
		m, ok := s.queue.take()
		s.mu.Unlock()
		if !ok {
			return 0
		}
		sending, cancel := context.WithTimeout(ctx, s.timeout)
		answer, f := s.client.send(sending, m.compressed)
		cancel()
		if f == nil {
			s.handleAccepted(&answer, &m)
		} else if wait := s.handleFailure(ctx, f, &m); wait > 0 {
			return wait
		}
	}
}

func (s *sender) handleAccepted(answer *reply, m *message) {
	rejected := min(answer.rejected, int64(m.profiles))
	lost := 0
	if rejected > 0 { // the reply has only the number of profiles: each counts as an equal part, rounded up
		lost = (m.intervals*int(rejected) + m.profiles - 1) / m.profiles
	}
	s.metrics.addLost(lostRejected, lost)
	s.metrics.intervals.Add(int64(m.intervals - lost))
	s.metrics.messages.Add(1)
	s.metrics.bytes.Add(int64(m.size))
	s.metrics.lastSent.Store(time.Now().UnixNano())
	s.metrics.rejected.Add(rejected)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.notices.messageAccepted(rejected, answer.why)
	s.queue.remove()
	s.publishCounts()
}

// handleFailure returns the shortest pause before the next attempt; 0: the message was dropped. A message that is too
// large for the receiver lowers the limit of later ones.
func (s *sender) handleFailure(ctx context.Context, f *failure, m *message) (pause time.Duration) {
	s.metrics.failures.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.publishCounts()
	switch {
	case ctx.Err() != nil:
		s.queue.putBack()
		return minFailurePause
	case f.kind == refused, f.kind == tooLarge:
		if half := max(m.size/2, minMessage); f.kind == tooLarge && half < min(m.size, s.limit) {
			s.limit, s.limitLowered = half, true
			s.queue.notices.limitLowered(m.intervals, m.size, s.limit)
		} else {
			s.queue.notices.messageRefused(f, m.intervals)
		}
		s.queue.remove()
		return 0
	}
	s.queue.notices.unreachable(f)
	s.queue.putBack()
	return max(f.pause(), minFailurePause)
}

// finish sends until ctx ends, then loses the rest. Precondition: run has returned.
func (s *sender) finish(ctx context.Context) (lost int) {
	s.flush(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.publishCounts()
	for len(s.queue.waiting) > 0 {
		n := s.queue.waiting[0].intervals
		s.metrics.addLost(lostAtEnd, n)
		lost += n
		s.queue.drop(0)
	}
	return lost
}

func (s *sender) flush(ctx context.Context) {
	end, limited := ctx.Deadline()
	for wait := time.Until(s.notBefore); ctx.Err() == nil; {
		if limited && time.Now().Add(wait).After(end) || !sleep(ctx.Done(), wait) {
			return
		}
		next := s.sendWaiting(ctx)
		if next == 0 {
			return
		}
		wait = max(next, jittered(minRetryPause))
	}
}
