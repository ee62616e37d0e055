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
	backoff            *backoff.Process
	otherMemory        ptrace.OtherMemory // what stops copy besides stacks
	list               threadList
	preTrackingSamples *newChild // observations before its first thread is tracked
	account            attribute.ProcessEnd
	endedReport        endedReport
	addressSpace       uint64 // number of the tracked program's ([procmem.Memory.Space])
	endedKnown         bool   // account has the time of earlier threads
	accountComplete    bool
}

func (p *process) engineObserves() bool { return p.EnginePart != nil && p.EnginePart.Observes() }

// readClock reads the clock of a process that is alive: else its ID may be another's.
func (p *process) readClock(alive bool) {
	c := &p.Clock
	c.Valid = alive
	if !alive {
		return
	}
	cpu, err := procmem.ProcessCPU(p.Target.PID)
	c.Valid = err == nil
	if c.Valid {
		c.Now = max(c.Now, cpu)
	}
}

func (p *process) clockDue(now int64) bool {
	return now-p.Clock.ReadAt >= int64(len(p.list.tids))*clockCost*clockShare
}

func (p *process) readClockAt(now int64, alive bool) {
	before := p.Clock.Now
	p.readClock(alive)
	p.Clock.ReadAt = now
	if p.Clock.Now != before {
		p.Clock.ChangedAt = now
	}
	p.backoff.Clock(now, p.Clock.Now, p.Clock.Valid)
}

func (p *process) alive() bool {
	n, err := p.TaskDir.Count()
	return err == nil && n > 0
}

type thread struct {
	engine.Thread
	proc            *process
	hidden          skid.HiddenDetector
	accountedClocks procmem.SchedStat // the clocks that were last used for its account
	end             handover.ThreadEnd
	listGeneration  int64 // last listing that had it
	observedTick    int64 // tick of the last observation
	observedEarlyAt int64 // last tick at which it was observed before all others
	clockPass       int64 // last pass over the clocks that read its clock ([endedThreads])
	gone            bool
}

func ownerOf(t *backoff.Thread) *thread { return t.Owner.(*thread) }

// Intervals, ns, of listings without a hint at a change: usual, and while the process does not run.
const (
	listEvery = 50e6
	listIdle  = 1e9
)

// The kernel goes through all threads to read a process's clock (clockCost ns each) or to list them (listCost). This
// takes at most one part in clockShare or listShare of the time; listings without a hint a fourth of that, for all
// processes together.
const (
	clockCost  = 120
	clockShare = 512
	clockEvery = 4e6
	listCost   = 500
	listShare  = 128
)

type threadList struct {
	byTID           map[int]*thread
	inOrder         []*thread
	tids            []int  // of the last listing
	listedAt        int64  // time of the last listing, CLOCK_MONOTONIC ns; 0 if due
	cpu             uint64 // the process's clock then, ns
	generation      int64  // number of the last listing
	changeHinted    bool   // threads have begun or ended since
	everListed      bool
	aloneSince      uint64 // 1 + CPU time of the first thread when it was found alone after others, ns; 0: it is not
	firstThreadName procmem.Comm
	// Of the last read of the list's end: CLOCK_MONOTONIC ns, taskCreations.count.
	tailReadAt, creations int64
	rejected              map[int]rejected
}

// rejected is a thread that is not tracked because of its name.
type rejected struct {
	since int64 // CLOCK_MONOTONIC ns
	again int64 // when its name is read again, as it may be set late, CLOCK_MONOTONIC ns
	old   bool  // it is older than the recording
}

func (list *threadList) reject(tid int, now int64) {
	if list.rejected == nil {
		list.rejected = map[int]rejected{}
	}
	entry := list.rejected[tid]
	if entry.since == 0 {
		entry.since, entry.old = now, !list.everListed
	}
	entry.again = now + min(now-entry.since, handover.NameEvery)
	list.rejected[tid] = entry
}

func (list *threadList) forgetRejected(tids []int) {
	if len(list.rejected)+len(list.byTID) <= len(tids) { // all are listed
		return
	}
	slices.Sort(tids) // the kernel's order is not needed any more
	for tid := range list.rejected {
		if _, there := slices.BinarySearch(tids, tid); !there {
			delete(list.rejected, tid)
		}
	}
}

func (list *threadList) knows(tid int) bool {
	if list.byTID[tid] != nil {
		return true
	}
	_, rejected := list.rejected[tid]
	return rejected
}

// due reports whether to list the threads. all is the number of threads of all processes.
func (list *threadList) due(now int64, clock *engine.Clock, all int) bool {
	if list.listedAt == 0 {
		return true
	}
	since := now - list.listedAt
	if !list.changeHinted && clock.Valid && clock.Now == list.cpu && since < listIdle {
		return false
	}
	const apart = listCost * listShare
	if list.changeHinted && since >= int64(len(list.tids))*apart {
		return true
	}
	return since >= max(listEvery, 4*apart*int64(max(all, len(list.tids))))
}

// TicksPerSecond is the unit of start times in /proc (USER_HZ).
const TicksPerSecond = 100

// BootTicks returns the present time in clock ticks (1/100 s) after boot, as start times in /proc.
func BootTicks() uint64 { return uint64(procmem.SinceBoot()) / (1e9 / TicksPerSecond) }

// startOf converts a start time to CLOCK_MONOTONIC ns.
func startOf(ticks uint64) int64 {
	return int64(ticks)*(1e9/TicksPerSecond) + procmem.Now() - procmem.SinceBoot()
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
