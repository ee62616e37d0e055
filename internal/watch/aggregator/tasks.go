// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"slices"
	"sync/atomic"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/host/procmem"
	"prywalk/internal/store/profile"
)

const (
	// pollEvery is the mean least time between two readings of a task, drawn from 1/2 to 3/2 of it against
	// aliasing.
	pollEvery        = 100 * time.Millisecond
	pollVirtualEvery = time.Second
	// restRatio is rest ÷ slice: lower in the first round, then higher until the whole share equals it.
	restRatio, firstRestRatio, laterRestRatio = 99, 9, 199
	// restPerWalk is the rest after a walk.
	restPerWalk       = time.Millisecond
	sliceCPU          = time.Millisecond       // CPU time
	tasksPerClockRead = 16                     // a reading is a system call
	lastRoundCPU      = 100 * time.Millisecond // CPU time
	firstRoundCPU     = time.Second            // after an incomplete first round: enough for 200,000 goroutines
	searchEvery       = 500 * time.Millisecond // for sources
	// checkpointIntervals bounds the open intervals that checkpoints add, per second on average.
	checkpointIntervals = 1000
)

// taskPollers observe the tasks of a process that are on no thread's stack: waiting goroutines and asyncio tasks. A
// stack is walked if the task's record has changed. The rest after each slice keeps the total at a hundredth of a CPU.
//
//	seen:      waits in A    waits in A    runs    waits in B
//	            ├─────────────┤             │       ├──
//	intervals:  A ────────────────┤          none    B ──────
//
// An observation stands for the time since the last: exact if nothing changed, else right on average. The time is
// blocked, outside of the threads' sums, without samples.
type taskPollers struct {
	all []*taskPoller
	due monotonic.Moment
}

type taskRecorder struct {
	aggregator   *Aggregator
	due          monotonic.Moment
	observations atomic.Int64 // any goroutine may read it
}

// PollTasks reads what is due of tasks and of other ends of sockets and pipes. It returns the time until the next call.
func (a *Aggregator) PollTasks() (rest time.Duration) {
	a.common.QuotaGate.Wait()
	now := procmem.Moment()
	for _, p := range a.states.procs {
		if p.waitState != nil && !p.process.Ended {
			p.nameLater(now)
		}
	}
	return a.tasks.poll()
}

// TaskObservations counts observations of waiting tasks, for any goroutine.
func (a *Aggregator) TaskObservations() int64 { return a.tasks.observations.Load() }

func (r *taskRecorder) poll() (rest time.Duration) {
	if !r.aggregator.opts.Tasks {
		return searchEvery
	}
	now := procmem.Moment()
	if now < r.due {
		return r.due.Sub(now)
	}
	if poller := r.longestDue(now); poller != nil {
		r.due = now.Add(poller.readSlice(now))
	}
	next := now.Add(searchEvery)
	for _, p := range r.aggregator.states.procs {
		next = min(next, p.tasks.due)
		for _, t := range p.tasks.all {
			next = min(next, t.due)
		}
	}
	return max(next, r.due).Sub(now)
}

func (r *taskRecorder) longestDue(now monotonic.Moment) (due *taskPoller) {
	for _, p := range r.aggregator.states.procs {
		if p.process.Ended {
			p.tasks.due = now.Add(searchEvery)
			continue
		}
		if p.tasks.due <= now {
			p.tasks.due = now.Add(searchEvery)
			r.find(p)
		}
		for _, t := range p.tasks.all {
			if t.due <= now && (due == nil || t.due < due.due) {
				due = t
			}
		}
	}
	return due
}

func (r *taskRecorder) find(p *processState) {
	runtimes := taskRuntimesOf(r.aggregator, p)
	p.tasks.all = slices.DeleteFunc(p.tasks.all, func(t *taskPoller) bool {
		gone := !slices.ContainsFunc(runtimes, func(o taskRuntime) bool { return o.id == t.runtime.id })
		if gone {
			t.addLast()
		}
		return gone
	})
	for _, o := range runtimes {
		if !slices.ContainsFunc(p.tasks.all, func(t *taskPoller) bool { return t.runtime.id == o.id }) {
			p.tasks.all = append(p.tasks.all, newTaskPoller(r.aggregator, p, o))
		}
	}
}

func (r *taskRecorder) eachPoller(f func(*taskPoller)) {
	for _, p := range r.aggregator.states.procs {
		for _, poller := range p.tasks.all {
			f(poller)
		}
	}
}

// checkpoint adds the tasks' intervals before a checkpoint; those of many tasks more rarely, as they enlarge the
// recording.
func (r *taskRecorder) checkpoint() {
	now := procmem.Moment()
	r.eachPoller(func(t *taskPoller) {
		if now.Sub(t.lastAdded) >= time.Duration(len(t.slots))*time.Second/checkpointIntervals {
			t.lastAdded = now
			t.addIntervals()
		}
	})
}

// finish adds the last intervals of a process's tasks. Tasks that are not read in time count as unchanged.
func (r *taskRecorder) finish(p *processState, now monotonic.Moment) {
	alive := p.process.Code.Alive()
	if r.aggregator.opts.Tasks && alive { // the recording may be too short for the first round
		r.find(p)
	}
	for _, t := range p.tasks.all {
		if alive {
			t.finish(now)
		}
		t.addLast()
	}
	p.tasks.all = nil
}

// openIntervals yields the intervals that are not added yet; false if yield has returned false.
func (r *taskRecorder) openIntervals(yield func(profile.Interval) bool) bool {
	for _, p := range r.aggregator.states.procs {
		for _, t := range p.tasks.all {
			for i := range t.slots {
				s := &t.slots[i]
				if !s.parked || s.seen <= s.began {
					continue
				}
				iv := t.interval(s)
				if iv.Before = int64(s.from.Sub(s.began)); !yield(iv) {
					return false
				}
			}
		}
	}
	return true
}

func (r *taskRecorder) stats(s *runstats.Stats) {
	totals := &r.aggregator.out.totals
	if t := &totals.goroutines; t.waiting.MostAtOnce > 0 {
		s.Goroutines = t.stats()
	}
	if t := &totals.coroutines; t.waiting.MostAtOnce > 0 {
		s.Tasks = t.stats()
	}
}

type taskTotals struct {
	waiting      runstats.WaitingTasks // without times
	blocked, cpu time.Duration
}

func (t *taskTotals) stats() *runstats.WaitingTasks {
	s := t.waiting
	s.Blocked, s.CPU = seconds(t.blocked), seconds(t.cpu)
	return &s
}
