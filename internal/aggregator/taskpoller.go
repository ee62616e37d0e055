// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"
	"math/rand/v2"

	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/selfruntime"
)

// taskPoller observes the tasks of one run-time system of a process, in rounds.
type taskPoller struct {
	a      *Aggregator
	p      *processAccount
	of     taskSource
	totals *taskTotals
	places []place // by the task source's number
	kinds  taskKinds

	next    int   // next place of the round
	polled  int   // first unpolled place
	changed []int // changed places
	pending []int // remaining part of changed

	round  int   // completed rounds
	began  int64 // start of the first, CLOCK_MONOTONIC ns
	turn   int64 // start of the current one
	due    int64 // start of the next slice
	cut    int64 // last time that all intervals were added, CLOCK_MONOTONIC ns
	gap    int64 // end of the last pause
	broken int   // consecutive failures
	cpu    int64 // processor time, ns
	walked int64 // stacks of this slice
}

// place is a record of a task.
type place struct {
	from, seen int64 // first and last observation of its state
	stack      sample.StackID
	kind       uint32
	parked     bool
}

// newTaskPoller makes a taskPoller whose first round is due.
func newTaskPoller(a *Aggregator, p *processAccount, of taskSource) *taskPoller {
	return &taskPoller{a: a, p: p, of: of, totals: of.totals(&a.totals), kinds: taskKinds{by: map[taskKind]uint32{}}}
}

// some reads a slice of the tasks, and gives the pause that must follow, in ns.
func (f *taskPoller) some(now int64) (rest int64) {
	took := int64(selfruntime.CPUOf(func() { f.slice(now, pollFor) }))
	f.totals.CPU += took
	f.cpu += took
	switch {
	case f.round == 0:
		rest = pollRestsAtFirst * took
	case f.cpu*(pollRests+1) > now-f.began: // compensates for the first round
		rest = max(pollRestsAfter*took, f.walked*walkRests)
	default:
		rest = max(pollRests*took, f.walked*walkRests)
	}
	switch {
	case f.broken > 0:
		f.due = now + int64(searchEvery)<<min(f.broken, 6)
	case f.next < len(f.places):
		f.due = now + rest
	default:
		f.next, f.round = 0, f.round+1
		f.due = max(now+rest, f.turn+pollEvery/2+rand.Int64N(pollEvery))
	}
	return rest
}

// slice reads tasks for at most the given ns of processor time.
func (f *taskPoller) slice(now, most int64) {
	f.walked = 0
	if !f.count(now) {
		return
	}
	began := selfruntime.CPUTime()
	if len(f.pending) == 0 {
		f.poll(now)
	}
	for n := 1; len(f.pending) > 0 && (n%clockEvery != 0 || int64(selfruntime.CPUTime()-began) <= most); n++ {
		i := f.pending[0]
		f.pending = f.pending[1:]
		f.readTask(i, now)
	}
	if len(f.pending) == 0 {
		f.next = f.polled
	}
	f.a.taskObservations.Store(f.a.totals.goroutines.Seen + f.a.totals.coroutines.Seen)
}

// count reads the number of places at the start of a round; false if that fails.
func (f *taskPoller) count(now int64) bool {
	if f.next > 0 || len(f.pending) > 0 {
		return true
	}
	f.turn = now
	f.a.unwind.lock.beginRead()
	n, err := f.of.Places()
	f.a.unwind.lock.endRead()
	if err != nil && n == 0 {
		f.broken++
		return false
	}
	f.broken = 0
	if f.began == 0 {
		f.began, f.cut = now, now
	}
	for len(f.places) < n {
		f.places = append(f.places, place{seen: f.since()})
	}
	f.totals.Most = max(f.totals.Most, int64(n))
	return true
}

// since gives the start of the state at a new place. Tasks of the first round are taken as unchanged before.
func (f *taskPoller) since() int64 {
	if f.round == 0 {
		return max(f.p.Since, 0)
	}
	return f.turn
}

// poll finds the changed among the next tasks.
func (f *taskPoller) poll(now int64) {
	f.polled = min(f.next+f.of.width(), len(f.places))
	f.a.unwind.lock.beginRead()
	f.changed = f.of.Poll(f.next, f.polled, f.changed[:0])
	f.a.unwind.lock.endRead()
	f.pending = f.changed
	changed := f.changed
	for i := f.next; i < f.polled; i++ {
		if len(changed) > 0 && changed[0] == i {
			changed = changed[1:]
			continue
		}
		s := &f.places[i]
		if s.seen = now; s.parked {
			f.totals.Seen++
		}
	}
}

// readTask reads a changed task.
func (f *taskPoller) readTask(i int, now int64) {
	s := &f.places[i]
	f.book(s)
	before := max(cmp.Or(s.seen, f.began), f.gap)
	s.parked, s.seen = false, now
	f.a.unwind.lock.beginRead()
	what, kind, stop := f.of.readTask(i)
	f.a.unwind.lock.endRead()
	switch what {
	case taskElsewhere:
		return
	case taskRan:
		f.totals.Changed++
		return
	}
	s.stack, _ = f.a.unwind.end(stop)
	s.kind = f.kinds.number(kind)
	s.parked, s.from = true, before
	f.walked++
	f.totals.Seen++
	f.totals.Walked++
	if !stop.Complete() {
		f.totals.Incomplete++
	}
}

// book adds the interval of a parked task up to its last observation.
func (f *taskPoller) book(s *place) {
	if s.parked && s.seen > s.from {
		i := f.interval(s)
		f.totals.Blocked += i.Wall
		f.a.put(i)
	}
	s.from = s.seen
}

// bookAll adds the intervals of all parked tasks, which go on.
func (f *taskPoller) bookAll() {
	for i := range f.places {
		f.book(&f.places[i])
	}
}

func (f *taskPoller) interval(s *place) profile.Interval {
	k, p := &f.kinds.list[s.kind], f.p
	return profile.Interval{
		Stack: s.stack, PID: p.Target.PID, NSPID: p.nsPID, Comm: p.Comm, Thread: k.entry, State: sample.Sleeping.String(),
		Wait: k.wait, Task: f.of.task(), Labels: k.labels, End: f.a.unix.Of(s.seen), Wall: s.seen - s.from,
	}
}

func (f *taskPoller) finish(now int64) {
	f.totals.CPU += int64(selfruntime.CPUOf(func() { f.lastRound(now) }))
	for i := range f.places {
		if s := &f.places[i]; s.parked {
			s.seen = max(s.seen, now)
		}
	}
}

// lastRound reads all tasks once more, within a limit. It is larger if the first round is incomplete: unread tasks
// are in no sum.
func (f *taskPoller) lastRound(now int64) {
	most := int64(pollLast)
	if f.round == 0 {
		most = pollFirst
	}
	began := selfruntime.CPUTime()
	if !f.count(now) {
		return
	}
	for left := len(f.places); left > 0; {
		used := int64(selfruntime.CPUTime() - began)
		if used >= most {
			break
		}
		before := f.next
		f.slice(now, most-used)
		if f.next == before && len(f.pending) == 0 { // unreadable, or none
			break
		}
		left -= f.next - before
		if f.next >= len(f.places) {
			f.next, f.round = 0, f.round+1
		}
	}
}

func (f *taskPoller) end() {
	f.bookAll()
	if f.round == 0 {
		f.totals.Unread += int64(len(f.places) - f.next)
		if len(f.pending) > 0 {
			f.totals.Unread -= int64(f.polled - f.next - len(f.pending))
		}
	}
}

// taskKind is the entry function, wait and labels that many tasks share.
type taskKind struct{ entry, wait, labels string }

// taskKinds numbers kinds.
type taskKinds struct {
	list []taskKind
	by   map[taskKind]uint32
}

func (t *taskKinds) number(k taskKind) uint32 {
	n, ok := t.by[k]
	if !ok {
		n = uint32(len(t.list))
		t.list = append(t.list, k)
		t.by[k] = n
	}
	return n
}
