// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"
	"math/rand/v2"
	"time"
	"unique"

	"prywalk/internal/base/monotonic"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/selfruntime"
	"prywalk/internal/store/profile"
)

// taskPoller observes the tasks of one runtime in rounds.
type taskPoller struct {
	aggregator *Aggregator
	process    *processState
	runtime    taskRuntime
	totals     *taskTotals
	slots      []taskSlot // by place

	next      int // next place of the round
	polledEnd int // first unpolled place
	changed   []int
	pending   []int // part of changed still to read

	round      int // completed
	firstBegan monotonic.Moment
	roundBegan monotonic.Moment
	due        monotonic.Moment
	lastAdded  monotonic.Moment
	pauseEnd   monotonic.Moment // end of the last gap: a task that changed in it gets only the time after it
	failures   int              // consecutive
	cpu        time.Duration
	walked     int64 // in this slice
}

type taskSlot struct {
	from, seen monotonic.Moment // observations of its state
	began      monotonic.Moment // the first of them
	stack      sample.StackID
	kind       unique.Handle[taskKind]
	parked     bool
}

func newTaskPoller(a *Aggregator, p *processState, r taskRuntime) *taskPoller {
	return &taskPoller{aggregator: a, process: p, runtime: r, totals: r.totals}
}

// readSlice returns the pause that must follow.
func (t *taskPoller) readSlice(now monotonic.Moment) (rest time.Duration) {
	took := selfruntime.CPUTimeOf(func() { t.readTasks(now, sliceCPU) })
	t.totals.cpu += took
	t.cpu += took
	rest = t.restAfter(took, now)
	t.planNext(now, rest)
	return rest
}

func (t *taskPoller) restAfter(took time.Duration, now monotonic.Moment) time.Duration {
	if t.round == 0 {
		return firstRestRatio * took
	}
	ratio := int64(restRatio)
	if t.cpu*(restRatio+1) > now.Sub(t.firstBegan) { // compensates for the first round
		ratio = laterRestRatio
	}
	return max(time.Duration(ratio)*took, time.Duration(t.walked)*restPerWalk)
}

func (t *taskPoller) planNext(now monotonic.Moment, rest time.Duration) {
	switch {
	case t.failures > 0:
		t.due = now.Add(searchEvery << min(t.failures, 6))
	case t.endRoundIfDone():
		every := t.runtime.every()
		t.due = max(now.Add(rest), t.roundBegan.Add(every/2+time.Duration(rand.Int64N(int64(every)))))
	default:
		t.due = now.Add(rest)
	}
}

func (t *taskPoller) endRoundIfDone() (done bool) {
	if t.next < len(t.slots) {
		return false
	}
	t.next, t.round = 0, t.round+1
	return true
}

func (t *taskPoller) readTasks(now monotonic.Moment, maxCPU time.Duration) {
	t.walked = 0
	if !t.countSlots(now) {
		return
	}
	began := selfruntime.CPUTime()
	if len(t.pending) == 0 {
		t.findChanged(now)
	}
	for n := 1; len(t.pending) > 0; n++ {
		if n%tasksPerClockRead == 0 && selfruntime.CPUTime()-began > maxCPU {
			break
		}
		i := t.pending[0]
		t.pending = t.pending[1:]
		t.readTask(i, now)
	}
	if len(t.pending) == 0 {
		t.next = t.polledEnd
	}
	all := &t.aggregator.out.totals
	t.aggregator.tasks.observations.Store(all.goroutines.waiting.Observations + all.coroutines.waiting.Observations)
}

// countSlots reads the number of places at a round's start, and returns false if that failed.
func (t *taskPoller) countSlots(now monotonic.Moment) bool {
	if t.next > 0 || len(t.pending) > 0 {
		return true
	}
	t.roundBegan = now
	n, err := t.runtime.source.Places()
	if err != nil && n == 0 {
		t.failures++
		return false
	}
	t.failures = 0
	if t.firstBegan == 0 {
		t.firstBegan, t.lastAdded = now, now
	}
	for len(t.slots) < n {
		t.slots = append(t.slots, taskSlot{seen: t.stateStart()})
	}
	t.totals.waiting.MostAtOnce = max(t.totals.waiting.MostAtOnce, int64(n))
	return true
}

// stateStart returns the start of a new task's state: tasks of the first round count as unchanged before.
func (t *taskPoller) stateStart() monotonic.Moment {
	if t.round == 0 {
		return max(t.process.process.Since, 0)
	}
	return t.roundBegan
}

func (t *taskPoller) findChanged(now monotonic.Moment) {
	t.polledEnd = min(t.next+t.runtime.batchSize, len(t.slots))
	t.changed = t.runtime.source.Poll(t.next, t.polledEnd, t.changed[:0])
	t.pending = t.changed
	changed := t.changed
	for i := t.next; i < t.polledEnd; i++ {
		if len(changed) > 0 && changed[0] == i {
			changed = changed[1:]
			continue
		}
		s := &t.slots[i]
		s.seen = now
		if s.parked {
			t.totals.waiting.Observations++
		}
	}
}

func (t *taskPoller) readTask(i int, now monotonic.Moment) {
	s := &t.slots[i]
	t.addInterval(s)
	before := max(cmp.Or(s.seen, t.firstBegan), t.pauseEnd)
	s.parked, s.seen = false, now
	what, kind, end := t.runtime.source.readTask(i)
	switch what {
	case taskNotParked:
		return
	case taskChanged:
		t.totals.waiting.ChangedInVain++
		return
	}
	s.stack, _ = t.aggregator.stacks.endStack(end)
	s.kind = unique.Make(kind)
	s.parked, s.from, s.began = true, before, before
	t.walked++
	t.totals.waiting.Observations++
	t.totals.waiting.Walked++
	if !end.Complete() {
		t.totals.waiting.Incomplete++
	}
}

func (t *taskPoller) addInterval(s *taskSlot) {
	if s.parked && s.seen > s.from {
		i := t.interval(s)
		t.totals.blocked += time.Duration(i.Wall)
		t.aggregator.out.addInterval(i)
	}
	s.from = s.seen
}

func (t *taskPoller) addIntervals() {
	for i := range t.slots {
		t.addInterval(&t.slots[i])
	}
}

func (t *taskPoller) interval(s *taskSlot) profile.Interval {
	k, p := s.kind.Value(), t.process
	return profile.Interval{
		Stack: s.stack, PID: p.process.Code.PID, InnerPID: innerNumber(p.innerPID, p.process.Code.PID),
		Start:  p.process.Code.StartTime,
		Comm:   p.process.Comm,
		Thread: k.firstFunction, State: sample.Sleeping.String(), Wait: k.wait,
		WaitsFor: cmp.Or(p.named[cmp.Or(k.waitsFor, k.unnamed)], k.waitsFor),
		Task:     cmp.Or(k.task, t.runtime.label), Labels: k.labels, Container: p.container,
		End: t.aggregator.out.unix.Of(s.seen), Wall: int64(s.seen.Sub(s.from)),
	}
}

func (t *taskPoller) finish(now monotonic.Moment) {
	t.totals.cpu += selfruntime.CPUTimeOf(func() { t.lastRound(now) })
	for i := range t.slots {
		if s := &t.slots[i]; s.parked {
			s.seen = max(s.seen, now)
		}
	}
}

// lastRound has a larger limit after an incomplete first round: unread tasks are in no sum.
func (t *taskPoller) lastRound(now monotonic.Moment) {
	maxCPU := lastRoundCPU
	if t.round == 0 {
		maxCPU = firstRoundCPU
	}
	began := selfruntime.CPUTime()
	if !t.countSlots(now) {
		return
	}
	for unread := len(t.slots); unread > 0; {
		maxCPULeft := maxCPU - (selfruntime.CPUTime() - began)
		if maxCPULeft <= 0 {
			return
		}
		from := t.next
		t.readTasks(now, maxCPULeft)
		if t.next == from && len(t.pending) == 0 { // unreadable, or none
			return
		}
		unread -= t.next - from
		t.endRoundIfDone()
	}
}

func (t *taskPoller) addLast() {
	t.addIntervals()
	if t.round == 0 {
		t.totals.waiting.Unread += int64(len(t.slots) - t.next)
		if len(t.pending) > 0 {
			t.totals.waiting.Unread -= int64(t.polledEnd - t.next - len(t.pending))
		}
	}
}

type taskKind struct {
	firstFunction, wait, waitsFor, labels string
	// unnamed is a file's link, and waitsFor "", if its other end was not found: [processState].named may have it later.
	unnamed string
	task    string // value of the label task; "" means the runtime's
}
