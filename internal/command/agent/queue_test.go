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

	"golang.org/x/sys/unix"

	"prywalk/internal/host/outfile"
	"prywalk/internal/testtargets/bounded"
)

func testSpool(t *testing.T, dir string, most int64) *spool {
	t.Helper()
	sp, err := openSpool(dir, most)
	if err != nil {
		t.Fatal(err)
	}
	return sp
}

// leave spools messages of an earlier agent.
func leave(t *testing.T, sp *spool, intervals ...int) {
	t.Helper()
	for _, n := range intervals {
		m := newMessage(messageOf(n), n)
		if err := sp.write(&m); err != nil {
			t.Fatal(err)
		}
		sp.left = append(sp.left, m)
	}
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
				leave(t, sp, intervals)
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
	leave(t, sp, 30_000)
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
	leave(t, sp, 10_000, 3)
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
	if taken+next.points != 10_003 || !slices.Contains(next.took, 3) || m.Lost() != 0 {
		t.Errorf("%d points came before, then messages of %d", taken, next.took)
	}
}

func TestFilesThatCannotBeReadNowStay(t *testing.T) {
	dir := t.TempDir()
	sp := testSpool(t, dir, 1<<30)
	leave(t, sp, 1000, 2000, 3000)
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
	checkOrder(t, got[0], "", []string{filepath.Base(files[0]) + " cannot be read now, it stays", "it is no regular file"})
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
	bounded.Receive(t, "an attempt to send", attempts)
	close(stop)
	bounded.Receive(t, "the sender ends", ended)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if lost := s.finish(ctx); lost != 10 || len(attempts) != 0 || lostFor(m, lostAtEnd) != 10 {
		t.Errorf("%d intervals are lost, %d more attempts, want 10 and none", lost, len(attempts))
	}
}

func heavy(intervals int) message {
	return message{compressed: make([]byte, maxWaitingBytes/2), intervals: intervals, size: maxWaitingBytes / 2}
}

func TestABrokenSpoolIsTriedAgainWithTheNextMessage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	sp := testSpool(t, dir, 1<<30)
	var got said
	m := &Metrics{}
	q := newQueue(sp, &notices{metrics: m, logf: got.say})
	away := func(intervals int) { q.append(heavy(intervals), true) }
	away(1)
	gone, err := outfile.OpenDirectory(dir + ".gone")
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	if err := os.Remove(dir + ".gone"); err != nil {
		t.Fatal(err)
	}
	open := sp.open
	sp.open = gone
	for i := range 3 {
		away(2 + i)
	}
	if len(got) != 2 || lostFor(m, lostFull) != 2 {
		t.Fatalf("%d intervals are dropped, want the 2 of the oldest message in memory; %q", m.Lost(), got)
	}
	checkOrder(t, got[0], "", []string{"--spool " + dir, "messages wait in memory", "; give another directory"})
	checkOrder(t, got[1], "", []string{"the queue for ", " is full", "; see the message about --spool"})
	sp.open = open
	away(5)
	checkSpooled(t, &q, 1, 3, 4, 5)
}

func TestAFullMemoryMovesToTheSpoolWhileAMessageIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		answered func(q *queue)
		want     []int
	}{
		"accepted": {(*queue).remove, []int{2, 3, 4}},
		"away":     {(*queue).putBack, []int{1, 2, 3, 4}},
		"divided":  {func(q *queue) { q.replace([]message{{intervals: 10}, {intervals: 11}}) }, []int{10, 11, 2, 3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &Metrics{}
			q := newQueue(testSpool(t, t.TempDir(), 1<<30), &notices{metrics: m, logf: quietly})
			q.append(newMessage(messageOf(1), 1), false)
			if _, _, ok := q.take(); !ok {
				t.Fatal("no message to send")
			}
			for i := range 3 {
				q.append(heavy(2+i), false)
			}
			c.answered(&q)
			checkSpooled(t, &q, c.want...)
			if m.Lost() != 0 {
				t.Errorf("%d intervals are lost", m.Lost())
			}
		})
	}
}

// The spool has a file of an earlier agent that cannot be read now: a directory.
func TestAMessageThatIsSentFromMemoryStaysTheFirst(t *testing.T) {
	sp := testSpool(t, t.TempDir(), 1<<30)
	sp.left = []message{{file: "directory", intervals: 9, size: 1}}
	if err := os.Mkdir(filepath.Join(sp.dir, sp.left[0].file), 0o700); err != nil {
		t.Fatal(err)
	}
	q := newQueue(sp, &notices{metrics: &Metrics{}, logf: quietly})
	q.list = append(q.list, newMessage(messageOf(1), 1))
	if _, n, _ := q.take(); n != 1 {
		t.Fatalf("a message of %d intervals is taken, want 1", n)
	}
	q.append(newMessage(messageOf(2), 2), true)
	q.remove()
	checkSpooled(t, &q, 9, 2)
}

func checkSpooled(t *testing.T, q *queue, want ...int) {
	t.Helper()
	var got []int
	for i := range q.list {
		got = append(got, q.list[i].intervals)
	}
	if memory, _ := q.bytes(); !slices.Equal(got, want) || memory != 0 {
		t.Errorf("intervals of the spooled messages: %d, want %d; %d bytes in memory", got, want, memory)
	}
}

func TestSpoolThatAnotherUserMayChangeIsRefused(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Join(dir, "spool")
	for _, c := range []struct {
		dir, below os.FileMode
		refused    bool
	}{
		{0o755, 0o700, false}, {0o755, 0o755, false}, {0o777 | os.ModeSticky, 0o700, false},
		{0o755, 0o777, true}, {0o755, 0o777 | os.ModeSticky, true}, {0o777, 0o700, true},
	} {
		if err := errors.Join(os.Chmod(dir, c.dir), os.MkdirAll(below, 0o700), os.Chmod(below, c.below)); err != nil {
			t.Fatal(err)
		}
		s, err := openSpool(below, 1<<20)
		if errors.Is(err, outfile.ErrShared) != c.refused || err != nil && !c.refused {
			t.Errorf("%v below %v: error %v, want a refusal: %v", c.below, c.dir, err, c.refused)
		}
		if err == nil {
			s.close()
		}
	}
}

// As a program of the agent's own user could leave it; another user cannot.
func TestWhatIsNoRegularFileOfTheSpoolIsNeitherSentNorWaitedFor(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, gzipCompress([]byte("root's")), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, swap := range map[string]func(path string) error{
		"a link":              func(path string) error { return os.Symlink(secret, path) },
		"a pipe":              func(path string) error { return unix.Mkfifo(path, 0o600) },
		"writable for others": func(path string) error { return errors.Join(os.Link(secret, path), os.Chmod(path, 0o666)) },
	} {
		sp := testSpool(t, dir, 1<<30)
		leave(t, sp, 1)
		path := filepath.Join(dir, sp.left[0].file)
		if err := errors.Join(os.Remove(path), swap(path)); err != nil {
			t.Fatal(err)
		}
		q := newQueue(sp, &notices{metrics: &Metrics{}, logf: quietly})
		if body, _, ok := q.take(); ok {
			t.Errorf("%s: %q would be sent", name, body)
		}
		_ = os.Remove(path)
		sp.close()
	}
}

// Lost returns the number of lost intervals.
func (m *Metrics) Lost() (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.lost {
		n += k
	}
	return n
}
