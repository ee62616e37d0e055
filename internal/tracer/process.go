// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/attribute"
	"prywalk/internal/backoff"
	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/procmem"
	"prywalk/internal/skid"
	"prywalk/ptrace"
)

type process struct {
	engine.TrackedProcess
	backoff     *backoff.ProcessState
	otherMemory ptrace.OtherMemory
	list        threadList
	account     attribute.ProcessEnd

	// of one part each:
	execState   execState
	endedReport endedReport
	tail        threadListTail
	earlier     *untrackedChild // of newChildren: observations before its first thread is tracked
}

func (p *process) engineObserves() bool { return p.EnginePart != nil && p.EnginePart.Observes() }

func (p *process) firstThread() *thread { return p.list.thread(p.Target.PID) }

// To read a process's clock the kernel goes through all its threads, clockCost ns each, for at most 1/clockShare of the
// time of each process.
const (
	clockCost  = 120
	clockShare = 512
)

func (p *process) clockDue(now int64) bool {
	return now-p.Clock.ReadAt >= int64(p.list.listed())*clockCost*clockShare
}

// readClock reads the process's CPU time if it is alive: else its ID may be another process's.
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

func (p *process) readClockAt(now int64, alive bool) {
	before := p.Clock.Now
	p.readClock(alive)
	p.Clock.ReadAt = now
	if p.Clock.Now != before {
		p.Clock.ChangedAt = now
	}
	p.backoff.SetClock(now, p.Clock.Now, p.Clock.Valid)
}

func (p *process) alive() bool {
	n, err := p.TaskDir.Count()
	return err == nil && n > 0
}

// schedStat reads the clocks of thread tid; th is nil if it is not tracked.
func (p *process) schedStat(th *thread, tid int) (procmem.SchedStat, error) {
	if th != nil {
		return th.Observed.Files().SchedStat()
	}
	return procmem.OpenThread(p.Target.PID, tid, nil).SchedStat()
}

type thread struct {
	engine.TrackedThread
	proc           *process
	end            handover.ThreadEnd
	listGeneration int64

	// Set by observations:
	hidden          skid.HiddenDetector
	accountedClocks procmem.SchedStat // last clocks used for its account
	triedTick       int64             // last observation, also one not admitted
	observedTick    int64             // last observation

	lastPass passReading // of endedThreads
}

func ownerOf(t *backoff.ThreadState) *thread { return t.Observed.Owner.(*thread) }

func (th *thread) isFirst() bool { return th.Observed.TID == th.proc.Target.PID }

// alive reports whether the thread exists; the first one does also after an exec by another.
func (th *thread) alive() bool {
	_, err := th.Observed.Files().SchedStat()
	return err == nil
}

// startOf converts clock ticks since boot to CLOCK_MONOTONIC ns.
func startOf(ticks uint64) int64 {
	return int64(ticks)*procmem.ClockTick + procmem.Now() - procmem.SinceBoot()
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
