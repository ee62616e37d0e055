// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"prywalk/internal/otlp"
	"prywalk/internal/printable"
)

const (
	// Range of --max-message, in bytes. Refusals lower the limit, but not below leastMessage.
	mostMessage  = 1 << 28
	leastMessage = 1 << 16
	// LeastSpool is the least --spool-size, in bytes: room for a message.
	LeastSpool = leastMessage
	// mostWaiting is the memory for waiting messages, compressed, in bytes.
	mostWaiting = 8 << 20
	// Pauses between attempts, doubled each time.
	firstPause   = time.Second
	longestPause = time.Minute
	longestAsked = time.Hour // pause that a receiver may ask for
)

type message struct {
	turn       uint64
	compressed []byte
	points     int
}

// messageID identifies a waiting message. Spool and memory count turns separately.
type messageID struct {
	spooled bool
	turn    uint64
}

type outgoing struct {
	messageID
	body   []byte
	points int
}

type sender struct {
	client   client
	metrics  *Metrics
	spool    *spool // nil: messages wait in memory
	timeout  time.Duration
	receiver string // in messages to the user
	say      func(format string, args ...any)

	mu       sync.Mutex
	divided  []message // in memory, parts of the spool's first message, which was too large: older than the spool
	queued   []message // in memory, newer than the spool
	turn     uint64    // of the last message in memory
	size     int       // of divided and queued, bytes
	limit    int       // of a message before compression, bytes
	failing  bool
	accepted bool
	wake     chan struct{}

	// Messages already given to the user: the reason of refusals since the last accepted message, the last reason of
	// rejected profiles, and others by their names.
	saidRefusal   string
	saidNoSpool   bool
	saidFull      bool
	saidTooLarge  bool
	saidRejection string
}

func newSender(c client, m *Metrics, s *spool, limit int, to Target, say func(string, ...any)) *sender {
	m.limit.Store(int64(limit))
	n := &sender{
		client: c, metrics: m, spool: s, timeout: to.Timeout, limit: limit, receiver: redacted(to.Endpoint), say: say,
		wake: make(chan struct{}, 1),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if s != nil && len(s.files) > 0 {
		n.say("--spool %s: messages of an earlier agent, which are sent first: %d", s, len(s.files))
		if s.trimmed > 0 {
			n.lostOldest(s.trimmed, "raise --spool-size")
		}
	}
	n.publishCounts()
	return n
}

func (s *sender) enqueue(body []byte, points int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.divide(body, points, s.appendMessage)
	s.publishCounts()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *sender) divide(body []byte, points int, f func(body []byte, points int)) {
	if len(body) <= s.limit {
		f(body, points)
		return
	}
	a, b, err := otlp.Split(body)
	if err != nil {
		s.metrics.addLost(lossReason(err), points)
		if errors.Is(err, otlp.ErrOne) && !s.saidTooLarge {
			s.saidTooLarge = true
			s.say("an interval takes %d bytes, messages may have %d: it is dropped and counted (%s); raise --max-message",
				len(body), s.limit, lostTooLarge)
		}
		return
	}
	s.metrics.splits.Add(1)
	share, err := shareOf(a, b, points)
	if err != nil {
		s.metrics.addLost(lostDamaged, points)
		return
	}
	s.divide(a, share, f)
	s.divide(b, points-share, f)
}

// shareOf returns the part of a message's intervals that a has, of its parts a and b: in proportion to their points, as
// an interval has a point for each clock, which may be in both.
func shareOf(a, b []byte, intervals int) (int, error) {
	n, err := otlp.Points(a)
	if err != nil {
		return 0, err
	}
	m, err := otlp.Points(b)
	if err != nil || n+m == 0 {
		return 0, err
	}
	return int(int64(intervals) * int64(n) / int64(n+m)), nil
}

func lossReason(err error) string {
	if errors.Is(err, otlp.ErrOne) {
		return lostTooLarge
	}
	return lostDamaged
}

// appendMessage appends a message to the spool while the receiver is unavailable, unless older ones are in memory,
// else to memory.
func (s *sender) appendMessage(body []byte, points int) {
	if s.spool != nil && len(s.queued) == 0 && (s.failing || len(s.spool.files) > 0) && s.toSpool(body, points) {
		return
	}
	s.queued = append(s.queued, s.compress(body, points))
	for s.size > mostWaiting && len(s.divided)+len(s.queued) > 1 {
		oldest := s.oldestInMemory()
		s.lostOldest((*oldest)[0].points, "give a directory with --spool")
		s.drop(oldest)
	}
}

// oldestInMemory returns the list with the oldest message in memory, if any.
func (s *sender) oldestInMemory() *[]message {
	if len(s.divided) > 0 {
		return &s.divided
	}
	return &s.queued
}

func (s *sender) compress(body []byte, points int) message {
	s.turn++
	m := message{s.turn, zipped(body), points}
	s.size += len(m.compressed)
	return m
}

func (s *sender) lostOldest(points int, step string) {
	s.metrics.addLost(lostFull, points)
	if !s.saidFull {
		s.saidFull = true
		s.say("too much waits for %s: the oldest messages are dropped and counted (%s); %s", s.receiver, lostFull, step)
	}
}

func (s *sender) toSpool(body []byte, points int) bool {
	dropped, err := s.spool.put(body, points)
	if dropped > 0 {
		s.lostOldest(dropped, "raise --spool-size")
	}
	if err != nil && !s.saidNoSpool {
		s.say("--spool %s: %v; messages wait in memory, up to %d MiB; %s", s.spool, err, mostWaiting>>20, spoolStep(err))
	}
	s.saidNoSpool = err != nil
	return err == nil
}

func (s *sender) drop(from *[]message) {
	s.size -= len((*from)[0].compressed)
	(*from)[0] = message{}
	*from = (*from)[1:]
}

func (s *sender) publishCounts() {
	n, size := len(s.divided)+len(s.queued), int64(s.size)
	if s.spool != nil {
		n, size = n+len(s.spool.files), size+s.spool.size
	}
	s.metrics.waiting.Store(int64(n))
	s.metrics.waitingBytes.Store(size)
	s.metrics.limit.Store(int64(s.limit))
}

// next returns the oldest message, which stays until remove is called.
func (s *sender) next() (m outgoing, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.spool != nil && len(s.divided) == 0 && len(s.spool.files) > 0 {
		f := s.spool.files[0]
		body, err := s.spool.first()
		if err == nil {
			return outgoing{messageID{true, f.turn}, body, f.points}, true
		}
		s.metrics.addLost(lostDamaged, f.points)
		s.say("--spool %s: %s is damaged and removed, %d intervals are lost (%s): %v; check the disk",
			s.spool, f.name, f.points, lostDamaged, err)
		s.spool.remove()
	}
	list := *s.oldestInMemory()
	if len(list) == 0 {
		return outgoing{}, false
	}
	body, err := unzipped(list[0].compressed, mostMessage)
	if err != nil {
		panic(err) // compressed by this process
	}
	return outgoing{messageID{false, list[0].turn}, body, list[0].points}, true
}

// remove removes a message from next, unless it was dropped since. Precondition: mu is held.
func (s *sender) remove(id messageID) {
	if id.spooled {
		if len(s.spool.files) > 0 && s.spool.files[0].turn == id.turn {
			s.spool.remove()
		}
		return
	}
	for _, list := range []*[]message{&s.divided, &s.queued} {
		if len(*list) > 0 && (*list)[0].turn == id.turn {
			s.drop(list)
		}
	}
}

// run sends until stop is closed, and then completes the message in progress: the receiver may have it already, and
// would get it twice. The end of ctx aborts it.
func (s *sender) run(ctx context.Context, stop <-chan struct{}) {
	pause := time.Duration(0)
	for {
		switch wait := s.sendWaiting(ctx); {
		case ctx.Err() != nil:
			return
		case wait > 0:
			pause = min(max(2*pause, firstPause), longestPause)
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

// jittered returns a random duration from d/2 to 3d/2.
func jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.5 + rand.Float64()))
}

// sendWaiting sends waiting messages. It returns the shortest pause until the next attempt; 0: all are sent.
func (s *sender) sendWaiting(ctx context.Context) (wait time.Duration) {
	for {
		m, ok := s.next()
		if !ok {
			return 0
		}
		sending, cancel := context.WithTimeout(ctx, s.timeout)
		answer, f := s.client.send(sending, m.body)
		cancel()
		if f == nil {
			s.handleTaken(answer, &m)
			continue
		}
		s.metrics.failures.Add(1)
		if ctx.Err() != nil {
			return 1
		}
		if wait := s.handleFailure(f, &m); wait > 0 {
			return wait
		}
	}
}

func (s *sender) handleTaken(answer reply, m *outgoing) {
	s.metrics.intervals.Add(int64(m.points))
	s.metrics.messages.Add(1)
	s.metrics.bytes.Add(int64(len(m.body)))
	s.metrics.lastSent.Store(time.Now().UnixNano())
	s.metrics.rejected.Add(answer.rejected)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.accepted || s.failing || s.saidRefusal != "" {
		again := ""
		if s.accepted {
			again = " again"
		}
		s.accepted, s.failing, s.saidFull, s.saidRefusal = true, false, false, ""
		s.say("%s takes messages%s", s.receiver, again)
	}
	if why := cmp.Or(printable.String(answer.why), "no reason given"); answer.rejected > 0 && why != s.saidRejection {
		s.saidRejection = why
		s.say("%s rejected %d profiles of a message, which are lost and counted: %s; see the receiver's log", s.receiver,
			answer.rejected, why)
	}
	s.remove(m.messageID)
	s.publishCounts()
}

// handleFailure handles a failure, and returns the shortest pause until the next attempt.
func (s *sender) handleFailure(f *failure, m *outgoing) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.publishCounts()
	switch {
	case f.kind == tooLarge && len(m.body) > leastMessage:
		s.limit = max(min(s.limit, len(m.body))/2, leastMessage)
		s.remove(m.messageID)
		rest := s.divided
		s.divided = nil
		s.divide(m.body, m.points, func(body []byte, points int) { s.divided = append(s.divided, s.compress(body, points)) })
		s.divided = append(s.divided, rest...)
		s.say("%s refuses a message of %d bytes as too large: messages have at most %d from now on; "+
			"set --max-message %d, or raise the receiver's limit", s.receiver, len(m.body), s.limit, s.limit)
		return 0
	case f.kind == refused, f.kind == tooLarge:
		why := cmp.Or(f.why, lostRefused)
		if f.kind == tooLarge {
			why = lostTooLarge // cannot be divided, and must not block the next ones
		}
		s.metrics.addLost(why, m.points)
		s.remove(m.messageID)
		if s.saidRefusal != why {
			s.saidRefusal = why
			s.say("%s refuses messages, which are dropped and counted (%s): %v; %s", s.receiver, why, cause(f.err),
				remedies[why])
		}
		return 0
	}
	if !s.failing {
		s.failing = true
		s.say("cannot send to %s, messages wait and are sent again: %v; %s", s.receiver, cause(f.err), nextStep(f.err))
	}
	if s.spool != nil {
		s.spill()
	}
	return min(max(f.notBefore, time.Millisecond), longestAsked)
}

// spill moves messages from memory to the spool, divided ones only if that is empty.
func (s *sender) spill() {
	if len(s.spool.files) == 0 {
		s.joinDivided()
	}
	for len(s.queued) > 0 {
		body, err := unzipped(s.queued[0].compressed, mostMessage)
		if err != nil {
			panic(err) // compressed by this process
		}
		if !s.toSpool(body, s.queued[0].points) {
			return
		}
		s.drop(&s.queued)
	}
}

func (s *sender) joinDivided() { s.divided, s.queued = nil, append(s.divided, s.queued...) }

// finish sends until ctx ends. The rest goes to the spool, or is lost. Divided messages become the newest of the
// spool: out of order, but each message has its own times.
func (s *sender) finish(ctx context.Context) (left int) {
	for ctx.Err() == nil {
		wait := s.sendWaiting(ctx)
		if wait == 0 || !sleep(ctx.Done(), min(max(wait, 100*time.Millisecond), time.Second)) {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.publishCounts()
	s.joinDivided()
	if s.spool != nil {
		s.spill()
	}
	for len(s.queued) > 0 {
		s.metrics.addLost(lostAtEnd, s.queued[0].points)
		left += s.queued[0].points
		s.drop(&s.queued)
	}
	if s.spool != nil && len(s.spool.files) > 0 {
		s.say("--spool %s: messages that wait for the next agent: %d", s.spool, len(s.spool.files))
	}
	return left
}
