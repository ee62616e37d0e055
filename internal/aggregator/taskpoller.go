// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"
	"math/rand/v2"

	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/selfruntime"
)

// taskPoller observes the tasks of one run-time system in rounds.
type taskPoller struct {
	aggregator *Aggregator
	process    *processAccount
	source     taskSource
	totals     *taskTotals
	places     []taskPlace // by the source's number
	kinds      taskKinds

	next    int // next place of the round
	polled  int // first unpolled place
	changed []int
	pending []int // part of changed still to read

	round      int   // completed rounds
	firstBegan int64 // start of the first round, CLOCK_MONOTONIC ns
	roundBegan int64
	due        int64 // start of the next slice
	lastAdded  int64 // when all intervals were last added, CLOCK_MONOTONIC ns
	pauseEnd   int64
	failures   int   // consecutive
	cpu        int64 // CPU time, ns
	walked     int64 // in this slice
}

type taskPlace struct {
	from, seen int64 // first and last observation of its state
	stack      sample.StackID
	kind       uint32
	parked     bool
}

func newTaskPoller(a *Aggregator, p *processAccount, source taskSource) *taskPoller {
	return &taskPoller{aggregator: a, process: p, source: source, totals: source.totals(&a.totals),
		kinds: taskKinds{by: map[taskKind]uint32{}}}
}

// readSlice reads a slice, and returns the pause that must follow, ns.
func (t *taskPoller) readSlice(now int64) (rest int64) {
	took := int64(selfruntime.CPUTimeOf(func() { t.readTasks(now, sliceCPU) }))
	t.totals.CPU += took
	t.cpu += took
	switch {
	case t.round == 0:
		rest = firstRestRatio * took
	case t.cpu*(restRatio+1) > now-t.firstBegan: // compensates for the first round
		rest = max(laterRestRatio*took, t.walked*restPerWalk)
	default:
		rest = max(restRatio*took, t.walked*restPerWalk)
	}
	switch {
	case t.failures > 0:
		t.due = now + int64(searchEvery)<<min(t.failures, 6)
	case t.next < len(t.places):
		t.due = now + rest
	default:
		t.next, t.round = 0, t.round+1
		t.due = max(now+rest, t.roundBegan+pollEvery/2+rand.Int64N(pollEvery))
	}
	return rest
}

// readTasks takes at most most ns of CPU time.
func (t *taskPoller) readTasks(now, most int64) {
	t.walked = 0
	if !t.countPlaces(now) {
		return
	}
	began := selfruntime.CPUTime()
	if len(t.pending) == 0 {
		t.findChanged(now)
	}
	for n := 1; len(t.pending) > 0 && (n%tasksPerClockRead != 0 || int64(selfruntime.CPUTime()-began) <= most); n++ {
		i := t.pending[0]
		t.pending = t.pending[1:]
		t.readTask(i, now)
	}
	if len(t.pending) == 0 {
		t.next = t.polled
	}
	all := &t.aggregator.totals
	t.aggregator.taskObservations.Store(all.goroutines.Observations + all.coroutines.Observations)
}

// countPlaces reads the number of places at a round's start; false: that failed.
func (t *taskPoller) countPlaces(now int64) bool {
	if t.next > 0 || len(t.pending) > 0 {
		return true
	}
	t.roundBegan = now
	t.aggregator.stacks.lock.beginRead()
	n, err := t.source.Places()
	t.aggregator.stacks.lock.endRead()
	if err != nil && n == 0 {
		t.failures++
		return false
	}
	t.failures = 0
	if t.firstBegan == 0 {
		t.firstBegan, t.lastAdded = now, now
	}
	for len(t.places) < n {
		t.places = append(t.places, taskPlace{seen: t.stateStart()})
	}
	t.totals.MostAtOnce = max(t.totals.MostAtOnce, int64(n))
	return true
}

// stateStart returns the start of the state at a new place. Tasks of the first round count as unchanged before.
func (t *taskPoller) stateStart() int64 {
	if t.round == 0 {
		return max(t.process.Since, 0)
	}
	return t.roundBegan
}

func (t *taskPoller) findChanged(now int64) {
	t.polled = min(t.next+t.source.batchSize(), len(t.places))
	t.aggregator.stacks.lock.beginRead()
	t.changed = t.source.Poll(t.next, t.polled, t.changed[:0])
	t.aggregator.stacks.lock.endRead()
	t.pending = t.changed
	changed := t.changed
	for i := t.next; i < t.polled; i++ {
		if len(changed) > 0 && changed[0] == i {
			changed = changed[1:]
			continue
		}
		s := &t.places[i]
		s.seen = now
		if s.parked {
			t.totals.Observations++
		}
	}
}

func (t *taskPoller) readTask(i int, now int64) {
	s := &t.places[i]
	t.addInterval(s)
	before := max(cmp.Or(s.seen, t.firstBegan), t.pauseEnd)
	s.parked, s.seen = false, now
	t.aggregator.stacks.lock.beginRead()
	what, kind, stop := t.source.readTask(i)
	t.aggregator.stacks.lock.endRead()
	switch what {
	case taskNotParked:
		return
	case taskChanged:
		t.totals.ChangedInVain++
		return
	}
	s.stack, _ = t.aggregator.stacks.endStack(stop)
	s.kind = t.kinds.number(kind)
	s.parked, s.from = true, before
	t.walked++
	t.totals.Observations++
	t.totals.Walked++
	if !stop.Complete() {
		t.totals.Incomplete++
	}
}

// addInterval adds a parked task's interval up to its last observation.
func (t *taskPoller) addInterval(s *taskPlace) {
	if s.parked && s.seen > s.from {
		i := t.interval(s)
		t.totals.Blocked += i.Wall
		t.aggregator.addInterval(i)
	}
	s.from = s.seen
}

func (t *taskPoller) addIntervals() {
	for i := range t.places {
		t.addInterval(&t.places[i])
	}
}

func (t *taskPoller) interval(s *taskPlace) profile.Interval {
	k, p := &t.kinds.list[s.kind], t.process
	return profile.Interval{
		Stack: s.stack, PID: p.Target.PID, InnerPID: p.innerPID, Start: p.Target.StartTime, Comm: p.Comm,
		Thread: k.entry, State: sample.Sleeping.String(), Wait: k.wait, Task: t.source.task(), Labels: k.labels,
		End: t.aggregator.unix.Of(s.seen), Wall: s.seen - s.from,
	}
}

func (t *taskPoller) finish(now int64) {
	t.totals.CPU += int64(selfruntime.CPUTimeOf(func() { t.lastRound(now) }))
	for i := range t.places {
		if s := &t.places[i]; s.parked {
			s.seen = max(s.seen, now)
		}
	}
}

// lastRound reads all tasks once more, within a limit, which is larger if the first round is incomplete: unread tasks
// are in no sum.
func (t *taskPoller) lastRound(now int64) {
	most := int64(lastRoundCPU)
	if t.round == 0 {
		most = firstRoundCPU
	}
	began := selfruntime.CPUTime()
	if !t.countPlaces(now) {
		return
	}
	for left := len(t.places); left > 0; {
		used := int64(selfruntime.CPUTime() - began)
		if used >= most {
			break
		}
		before := t.next
		t.readTasks(now, most-used)
		if t.next == before && len(t.pending) == 0 { // unreadable, or none
			break
		}
		left -= t.next - before
		if t.next >= len(t.places) {
			t.next, t.round = 0, t.round+1
		}
	}
}

func (t *taskPoller) addLast() {
	t.addIntervals()
	if t.round == 0 {
		t.totals.Unread += int64(len(t.places) - t.next)
		if len(t.pending) > 0 {
			t.totals.Unread -= int64(t.polled - t.next - len(t.pending))
		}
	}
}

type taskKind struct{ entry, wait, labels string }

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
