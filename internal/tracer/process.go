// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"slices"

	"prywalk/internal/attribute"
	"prywalk/internal/backoff"
	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/procmem"
	"prywalk/internal/skid"
	"prywalk/ptrace"
)

type process struct {
	engine.Process
	idle        *backoff.Process
	extra       ptrace.Extra // copied of its threads besides stacks
	list        threadList
	before      *newChild // earlier observations, until its first thread is attached
	end         attribute.ProcessEnd
	endedReport endedReport
	// counted: end.Ended has the time of earlier threads. closed: end is complete.
	counted, closed bool
}

// sampled reports whether the engine observes its running threads; else they are stopped.
func (p *process) sampled() bool { return p.Engine != nil && p.Engine.Observes() }

// readClock reads the process's clock. alive: it has threads; else the id may be reused.
func (p *process) readClock(alive bool) {
	c := &p.Clock
	if c.Valid = alive; !alive {
		return
	}
	cpu, err := procmem.ProcessCPU(p.Target.PID)
	if c.Valid = err == nil; c.Valid {
		c.Now = max(c.Now, cpu)
	}
}

func (p *process) clockDue(now int64) bool {
	return now-p.Clock.At >= int64(len(p.list.tids))*clockCost*clockShare
}

func (p *process) readClockAt(now int64, alive bool) {
	before := p.Clock.Now
	p.readClock(alive)
	if p.Clock.At = now; p.Clock.Now != before {
		p.Clock.Moved = now
	}
	p.idle.Clock(now, p.Clock.Now, p.Clock.Valid)
}

func (p *process) alive() bool {
	n, err := p.Tasks.Count()
	return err == nil && n > 0
}

type thread struct {
	engine.Thread
	proc            *process
	hidden          skid.Hidden
	end             handover.ThreadEnd
	listGeneration  int64
	tick            int64 // last observation
	observedEarlyAt int64 // observed before all others
	clockPass       int64
	dead            bool
}

// ownerOf gives the thread of one that the policy has chosen.
func ownerOf(t *backoff.Thread) *thread { return t.Owner.(*thread) }

// Threads are listed each listEvery ns without a hint at a change, each listIdle if the process does not run.
const (
	listEvery = 50e6
	listIdle  = 1e9
)

// The kernel goes through all threads to read a process's clock (clockCost ns each) or to list them (listCost): at most
// one part in clockShare or listShare of the time. All listings without a hint take at most a fourth of the latter.
const (
	clockCost  = 120
	clockShare = 512
	clockEvery = 4e6
	listCost   = 500
	listShare  = 128
)

type threadList struct {
	byTID      map[int]*thread
	inOrder    []*thread
	tids       []int
	at         int64 // CLOCK_MONOTONIC ns; 0: due
	cpu        uint64
	generation int64
	hint       bool
	begun      bool
	leader     procmem.Comm
	// Last read of the end of the list, CLOCK_MONOTONIC ns; count of births then.
	tailAt, births int64
	rejected       map[int]rejected
}

// rejected is a thread left out by name, and when to read its name again (it may be set late), CLOCK_MONOTONIC ns.
type rejected struct{ since, again int64 }

func (l *threadList) reject(tid int, now int64) {
	if l.rejected == nil {
		l.rejected = map[int]rejected{}
	}
	u := l.rejected[tid]
	if u.since == 0 {
		u.since = now
	}
	u.again = now + min(now-u.since, handover.NameEvery)
	l.rejected[tid] = u
}

func (l *threadList) forgetRejected(tids []int) {
	if len(l.rejected) <= len(tids) {
		return
	}
	slices.Sort(tids) // the kernel's order is not used from here on
	for tid := range l.rejected {
		if _, there := slices.BinarySearch(tids, tid); !there {
			delete(l.rejected, tid)
		}
	}
}

func (l *threadList) knows(tid int) bool {
	if l.byTID[tid] != nil {
		return true
	}
	_, rejected := l.rejected[tid]
	return rejected
}

// due reports whether the threads are to be listed. all is the number of threads of all processes.
func (l *threadList) due(now int64, clock *engine.Clock, all int) bool {
	if l.at == 0 {
		return true
	}
	since := now - l.at
	if !l.hint && clock.Valid && clock.Now == l.cpu && since < listIdle {
		return false
	}
	const apart = listCost * listShare
	if l.hint && since >= int64(len(l.tids))*apart {
		return true
	}
	return since >= max(listEvery, 4*apart*int64(max(all, len(l.tids))))
}

// TicksPerSecond is the unit of start times in /proc (USER_HZ).
const TicksPerSecond = 100

// BootTicks gives the present moment in clock ticks (1/100 s) after boot, as start times in /proc.
func BootTicks() uint64 { return uint64(procmem.SinceBoot()) / (1e9 / TicksPerSecond) }

// startOf gives a start time in CLOCK_MONOTONIC ns, to a tick.
func startOf(ticks uint64) int64 {
	return int64(ticks)*(1e9/TicksPerSecond) + procmem.Now() - procmem.SinceBoot()
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
