// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"slices"

	"prywalk/internal/attribute"
	"prywalk/internal/code"
	"prywalk/internal/handover"
	"prywalk/internal/idle"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/schedule"
	"prywalk/internal/skid"
	"prywalk/ptrace"
)

// process is what the tracer knows of one process that is sampled.
type process struct {
	target *code.Process
	shared *handover.Process // what the accountant sees of it
	gone   bool
	extra  ptrace.Extra // what is copied of its threads besides their stacks
	idle   *idle.Process
	clock  processClock
	list   threadList
	end    attribute.ProcessEnd
	youth  *young // the looks at it before it was opened, until its first thread is met
	soFar  endedSoFar
	// counted: what end.ended has is known. closed: so is what there is to know of its end.
	counted, closed bool

	// sampled: the kernel samples its running threads; served: it did at some time. left is what samples lack, as of
	// when it was left to ptrace. heard counts its samples that can be walked, heardOf as of the last sign of life, when
	// the process had run for ranUnheard ns.
	sampled, served            bool
	left                       handover.Lack
	insisted                   handover.Lack // what samples lack although they are taken
	heard, heardOf, ranUnheard int64
}

// endedSoFar says when the accountant is told what threads that have ended used: from next on, CLOCK_MONOTONIC ns, if
// there are some.
type endedSoFar struct {
	some bool
	next int64
}

// processClock is a process's own clock.
type processClock struct {
	first uint64 // when sampling the process began, ns
	now   uint64 // as of readAt, ns
	at    int64  // the tick at which it was read, CLOCK_MONOTONIC ns
	valid bool   // it could be read
	moved int64  // when it was last seen to have moved, CLOCK_MONOTONIC ns
}

// ran gives the processor time that the process has used while it was sampled, in nanoseconds.
func (c *processClock) ran() int64 { return int64(c.now - c.first) }

// readClock reads the process's clock. It never falls: should it seem to, the number
// is another process's by now, and so it is when this one has no threads left.
// It is not asked for then: alive tells that it has some.
func (p *process) readClock(alive bool) {
	c := &p.clock
	if c.valid = alive; !alive {
		return
	}
	cpu, err := procmem.ProcessCPU(p.target.PID)
	if c.valid = err == nil; c.valid {
		c.now = max(c.now, cpu)
	}
}

// clockDue reports whether the process's clock may be read at a tick: where there are many threads, that takes long.
func (p *process) clockDue(now int64) bool {
	return now-p.clock.at >= int64(len(p.list.tids))*clockCost*clockShare
}

// readClockAt reads the process's clock at a tick, and tells the idle policy.
func (p *process) readClockAt(now int64, alive bool) {
	before := p.clock.now
	p.readClock(alive)
	if p.clock.at = now; p.clock.now != before {
		p.clock.moved = now
	}
	p.idle.Clock(now, p.clock.now, p.clock.valid)
}

// alive reports whether the process has threads left.
func (p *process) alive() bool {
	n, err := p.list.tasks.Count()
	return err == nil && n > 0
}

// thread is what the tracer knows of one thread.
type thread struct {
	shared   *handover.Thread // what the accountant sees of it
	proc     *process
	look     *look.Thread
	idle     idle.Thread
	hidden   skid.Hidden
	sampled  sampled
	steady   schedule.Steady // it runs on and on, and the kernel samples it
	followed followed
	end      handover.ThreadEnd
	listing  int64 // the last one that showed it
	tick     int64 // the last one at which it was looked at
	told     int64 // when the accountant was told of it last, CLOCK_MONOTONIC ns
	metAt    int64 // the one at which it was met, if its birth was seen
	turn     int64 // of reading the threads' clocks, in which its own were read last ([endedCount])
	deep     bool  // it was frozen although it is sampled: its stack is too deep
	born     bool  // its birth was seen: its clocks count from zero
	noUser   bool  // it never runs in user space: the kernel has started it in the process, as io_uring does
	dead     bool
}

// listEvery is how often the threads of a process are listed when nothing hints at a change, in nanoseconds. A
// thread that is gone is noticed at its next look. listIdle is how often they are listed at least.
const (
	listEvery = 50e6
	listIdle  = 1e9
)

// The kernel goes through all threads of a process to read its clock, which takes up
// to clockCost ns for each, and to list them, which takes up to listCost. Reading the
// clock may take one part in clockShare of the time, listing one in listShare. Where nobody is left alone whom the
// clock could show to have run, it is read each clockEvery ns.
const (
	clockCost  = 120
	clockShare = 512
	clockEvery = 4e6
	listCost   = 500
	listShare  = 128
)

// threadList is which threads a process has. It belongs to the tracer.
type threadList struct {
	tasks   *procmem.TaskDir
	byTID   map[int]*thread
	inOrder []*thread
	tids    []int // as of the last listing
	at      int64 // when that was, CLOCK_MONOTONIC ns; 0: it is due
	cpu     uint64
	n       int64 // listings so far
	hint    bool  // a thread has come or gone since
	begun   bool  // the threads that lived at the start are listed
	leader  procmem.Comm
	// youngest is when the end of the list was looked at for newborn threads, CLOCK_MONOTONIC ns, and births the count of
	// births then.
	youngest, births int64
	// unwanted are the threads that --threads leaves out, and when to look at
	// their names again: programs name their threads after they started them.
	unwanted map[int]unwanted
}

// unwanted is a thread that is not sampled because of its name.
type unwanted struct{ since, again int64 }

// refuse notes that a thread is not wanted, and looks at its name again soon, then
// less and less often.
func (l *threadList) refuse(tid int, now int64) {
	if l.unwanted == nil {
		l.unwanted = map[int]unwanted{}
	}
	u := l.unwanted[tid]
	if u.since == 0 {
		u.since = now
	}
	u.again = now + min(now-u.since, handover.NameEvery)
	l.unwanted[tid] = u
}

// forgetUnwanted drops the threads that --threads leaves out and that have ended, when there are more of them than
// threads: another thread may get their number.
func (l *threadList) forgetUnwanted(tids []int) {
	if len(l.unwanted) <= len(tids) {
		return
	}
	slices.Sort(tids) // the kernel's order, by birth, is of use to nobody from here on
	for tid := range l.unwanted {
		if _, there := slices.BinarySearch(tids, tid); !there {
			delete(l.unwanted, tid)
		}
	}
}

// due reports whether the threads are to be listed: when there are not as many as there were, or nobody has looked
// for long. One may have come as another went.
func (l *threadList) due(now int64, clock *processClock) bool {
	if l.at == 0 {
		return true
	}
	since := now - l.at
	if !l.hint && clock.valid && clock.now == l.cpu && since < listIdle {
		return false // nobody has run, and so nobody has started or ended a thread
	}
	soonest := int64(len(l.tids)) * listCost * listShare
	return since >= max(listEvery, 4*soonest) || l.hint && since >= soonest
}

// # Start times

// TicksPerSecond is the unit of start times in /proc (USER_HZ).
const TicksPerSecond = 100

// BootTicks gives the present moment as /proc gives start times: in clock ticks (1/100 s) after boot.
func BootTicks() uint64 { return uint64(procmem.SinceBoot()) / (1e9 / TicksPerSecond) }

// startOf gives a start time in CLOCK_MONOTONIC nanoseconds, to a tick.
func startOf(ticks uint64) int64 {
	return int64(ticks)*(1e9/TicksPerSecond) + procmem.Now() - procmem.SinceBoot()
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
