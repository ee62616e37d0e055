// SPDX-License-Identifier: Apache-2.0

package target

import "prywalk/internal/procmem"

// Clock is a process's CPU time at its last reading.
type Clock struct {
	First     uint64 // when sampling began, ns
	Now       uint64 // ns
	ReadAt    int64  // tick, CLOCK_MONOTONIC ns
	Valid     bool
	ChangedAt int64 // CLOCK_MONOTONIC ns
}

// CPUTime returns the CPU time since sampling began, ns.
func (c *Clock) CPUTime() int64 { return int64(c.Now - c.First) }

// To read a process's clock the kernel goes through all its threads, clockCost ns each, for at most 1/clockShare of the
// time of each process.
const (
	clockCost  = 120
	clockShare = 512
	clockEvery = 4e6 // ns between readings while no thread is backed off
)

// ClockDue reports whether the clock may be read.
func (p *Process) ClockDue(now int64) bool {
	return now-p.Clock.ReadAt >= int64(p.Threads.Listed())*clockCost*clockShare
}

// ReadClockIfDue reads the clock at a tick if it is needed. alive is as in ReadClock.
func (p *Process) ReadClockIfDue(now int64, alive bool) {
	if p.ClockDue(now) && (p.Backoff.AnyBackedOff() || now-p.Clock.ReadAt >= clockEvery) {
		p.ReadClockAt(now, alive)
	}
}

// ReadClockAt reads the clock at a tick. alive is as in ReadClock.
func (p *Process) ReadClockAt(now int64, alive bool) {
	before := p.Clock.Now
	p.ReadClock(alive)
	p.Clock.ReadAt = now
	if p.Clock.Now != before {
		p.Clock.ChangedAt = now
	}
	p.Backoff.SetClock(now, p.Clock.Now, p.Clock.Valid)
}

// ReadClock reads the process's CPU time if it is alive: else its ID may be another process's.
func (p *Process) ReadClock(alive bool) {
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

// HasThreads reports whether the kernel lists a thread.
func (p *Process) HasThreads() bool {
	if p.TaskDir == nil {
		return false
	}
	n, err := p.TaskDir.Count()
	return err == nil && n > 0
}

// FirstThread returns the first thread, or nil if it is not tracked.
func (p *Process) FirstThread() *Thread { return p.Threads.Of(p.Target.PID) }

// SchedStat reads the clocks of thread tid; th is nil if it is not tracked.
func (p *Process) SchedStat(th *Thread, tid int) (procmem.SchedStat, error) {
	if th != nil {
		return th.Observed.Files().SchedStat()
	}
	return procmem.OpenThread(p.Target.PID, tid, nil).SchedStat()
}
