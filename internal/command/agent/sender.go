// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"prywalk/internal/store/otlp"
)

const (
	// Range of --max-message, bytes. Refusals do not lower the limit below minMessage.
	maxMessage = 1 << 28
	minMessage = 1 << 16
	// MinSpool is the least --spool-size, bytes: room for a message.
	MinSpool        = minMessage
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

	mu          sync.Mutex // guards the rest
	queue       queue
	limit       int  // of a message before compression, bytes
	unreachable bool // the last attempt failed: new messages go to the spool

	limitLowered bool
}

func newSender(c client, m *Metrics, s *spool, limit int, to Receiver, logf func(string, ...any)) *sender {
	n := &notices{metrics: m, receiver: redacted(to.Endpoint), logf: logf}
	out := &sender{
		client: c, metrics: m, timeout: to.Timeout, wake: make(chan struct{}, 1), queue: newQueue(s, n), limit: limit,
	}
	out.publishCounts()
	return out
}

func (s *sender) enqueue(body []byte, intervals int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.divide(body, intervals) {
		s.queue.append(m, s.unreachable)
	}
	s.publishCounts()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// divide drops and counts indivisible messages.
func (s *sender) divide(body []byte, intervals int) []message {
	if len(body) <= s.limit {
		return []message{newMessage(body, intervals)}
	}
	a, b, err := otlp.Split(body)
	if err != nil {
		s.queue.notices.indivisible(err, intervals, len(body), s.limit, s.limitLowered)
		return nil
	}
	s.metrics.splits.Add(1)
	half := intervals / 2 // an interval may have points in both
	return append(s.divide(a, half), s.divide(b, intervals-half)...)
}

func (s *sender) publishCounts() {
	memory, files := s.queue.bytes()
	s.metrics.waiting.Store(int64(len(s.queue.list)))
	s.metrics.waitingBytes.Store(memory + files)
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

// sendWaiting returns the shortest pause before the next attempt, or 0 if all is sent.
func (s *sender) sendWaiting(ctx context.Context) (wait time.Duration) {
	for {
		body, intervals, ok := s.next()
		if !ok {
			return 0
		}
		sending, cancel := context.WithTimeout(ctx, s.timeout)
		answer, f := s.client.send(sending, body)
		cancel()
		if f == nil {
			s.handleAccepted(&answer, body, intervals)
		} else if wait := s.handleFailure(ctx, f, body, intervals); wait > 0 {
			return wait
		}
	}
}

// next takes the oldest message, and divides it if it exceeds the present limit. ok is false if there is none.
func (s *sender) next() (body []byte, intervals int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.publishCounts()
	for {
		body, intervals, ok = s.queue.take()
		if !ok || len(body) <= s.limit {
			return body, intervals, ok
		}
		s.queue.replace(s.divide(body, intervals))
	}
}

func (s *sender) handleAccepted(answer *reply, body []byte, intervals int) {
	rejected, lost := rejectedOf(answer.rejected, body, intervals)
	s.metrics.addLost(lostRejected, lost)
	s.metrics.intervals.Add(int64(intervals - lost))
	s.metrics.messages.Add(1)
	s.metrics.bytes.Add(int64(len(body)))
	s.metrics.lastSent.Store(time.Now().UnixNano())
	s.metrics.rejected.Add(rejected)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreachable = false
	s.queue.notices.messageAccepted(rejected, answer.why)
	s.queue.remove()
	s.publishCounts()
}

// rejectedOf returns the numbers of rejected profiles, at most those of the message, and of rejected intervals. It
// divides a message's intervals among its profiles, rounded up: the reply has only the number of profiles.
func rejectedOf(claimed int64, body []byte, intervals int) (profiles int64, lost int) {
	if claimed == 0 {
		return 0, 0
	}
	all, err := otlp.Profiles(body)
	if err != nil || claimed >= int64(all) {
		return int64(all), intervals
	}
	return claimed, (intervals*int(claimed) + all - 1) / all
}

// handleFailure returns the shortest pause before the next attempt, or 0 if the message was divided or dropped.
func (s *sender) handleFailure(ctx context.Context, f *failure, body []byte, intervals int) (pause time.Duration) {
	s.metrics.failures.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.publishCounts()
	switch {
	case ctx.Err() != nil:
		s.queue.putBack()
		return minFailurePause
	case f.kind == tooLarge && len(body) > minMessage:
		s.limit, s.limitLowered = max(len(body)/2, minMessage), true
		s.queue.replace(s.divide(body, intervals))
		s.queue.notices.limitLowered(len(body), s.limit)
		return 0
	case f.kind == refused, f.kind == tooLarge:
		s.queue.notices.messageRefused(f, intervals)
		s.queue.remove()
		return 0
	}
	s.unreachable = true
	s.queue.notices.unreachable(f)
	s.queue.putBack()
	s.queue.spill()
	return max(f.pause(), minFailurePause)
}

// finish sends until ctx ends, then spools or loses the rest. Precondition: run has returned.
func (s *sender) finish(ctx context.Context) (lost int) {
	s.flush(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.publishCounts()
	lost = s.queue.close()
	s.metrics.addLost(lostAtEnd, lost)
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
