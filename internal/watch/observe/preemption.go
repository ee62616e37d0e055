// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"os"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

// Preemption finds the thread that the tracer's own wake-up preempted. For the tracer's OS thread only.
//
// The kernel reads the scheduler's clock once for the thread that leaves a CPU and the one that arrives: equal times
// show the pair. The user stack is as it was at the tick (on a non-preemptible kernel, a system call first ends or
// sleeps).
type Preemption struct {
	ctl *ptrace.Controller

	wake        wakeUp               // the last one that was noted
	self        *procmem.ThreadFiles // nil before the first reading
	arrival     int64                // of the tracer on its CPU, scheduler clock; 0 means unknown
	arrivalWake ptrace.Moment        // the wake-up of arrival
	cpu         int
	cpuWake     ptrace.Moment // the wake-up of cpu
	queriesLeft int           // wake-ups for which arrival is still read early

	foundAt      ptrace.Moment // wake-up whose preempted thread was found
	foundInTick  bool
	preemptedCPU int // of the last such thread
}

type wakeUp struct {
	at ptrace.Moment // identifies it
	// byTimer means that the tracer's own timer on its CPU woke it. Otherwise the preempted thread skids.
	byTimer bool
}

// queriedFor is the number of wake-ups after a query for which the arrival is read early.
const queriedFor = 16

// Preemption returns the observer's.
func (o *Observer) Preemption() *Preemption { return &o.preemption }

// Woken notes a wake-up of the tracer. It reads the tracer's arrival at once if a query is
// likely: the kernel updates the value at each of its ticks.
func (p *Preemption) Woken(at ptrace.Moment) {
	p.wake = wakeUp{at, p.ctl.Sleeper.WokenByTimer()}
	if p.queriesLeft > 0 {
		p.queriesLeft--
		p.readArrival(at)
	}
}

// BeginTick begins the time of PreemptedOn.
func (p *Preemption) BeginTick() { p.foundInTick = false }

// PreemptedOn returns the CPU on which the tracer last preempted a sampled thread in this tick, or false.
func (p *Preemption) PreemptedOn() (cpu int, ok bool) { return p.preemptedCPU, p.foundInTick }

// ForgetWake notes that the tracer has worked since its sleep.
func (p *Preemption) ForgetWake() { p.ctl.Sleeper.ClearWokenByTimer() }

// Nap sleeps until a moment.
func (p *Preemption) Nap(until ptrace.Moment) { p.ctl.Sleeper.NanosleepUntil(until) }

// LastCPU returns a thread's last CPU, or −1, and whether the thread outranks the tracer there.
func (p *Preemption) LastCPU(t *Thread) (cpu int, outranks bool) {
	if t.skid.preempted {
		return t.skid.cpu, false
	}
	var st procmem.Stat
	if t.files.Stat(&st) != nil {
		return -1, false
	}
	var own procmem.Stat
	if !runsBefore(&st, &own) { // not even an ordinary thread
		return st.Processor, false
	}
	return st.Processor, p.ownFiles().Stat(&own) == nil && runsBefore(&st, &own)
}

// runsBefore reports whether a thread runs before another one on the same CPU (sched(7)): it has a real-time policy,
// and the other has none or no higher priority.
func runsBefore(st, other *procmem.Stat) bool {
	isRealTime := other.Policy == unix.SCHED_FIFO || other.Policy == unix.SCHED_RR
	switch st.Policy {
	case unix.SCHED_DEADLINE:
		return true
	case unix.SCHED_FIFO, unix.SCHED_RR:
		return !isRealTime || other.RTPriority <= st.RTPriority
	}
	return false
}

// decide finds, once per sample, whether the tracer's wake-up preempted a thread. queued means that it waits for the
// tracer's CPU, so that it cannot stop before the tracer sleeps.
//
// Precondition: the tracer has not slept since its wake-up. It takes some µs: see [skidState.decideAtOnce].
func (p *Preemption) decide(t *Thread) (queued bool) {
	skid, wake := &t.skid, p.lastWake()
	if skid.decided {
		return skid.awaitsTracer
	}
	skid.decided, skid.fromOtherCPU, skid.cpu = true, !wake.byTimer, p.cpuAt(wake.at)
	if p.isFound(wake.at) { // it is another thread
		return false
	}
	var st procmem.Stat
	if t.files.Stat(&st) == nil && st.Processor == skid.cpu {
		skid.awaitsTracer = true
		skid.preempted = p.hasPreempted(t.files, wake.at)
	}
	return skid.awaitsTracer
}

func (p *Preemption) lastWake() wakeUp {
	if at := p.ctl.Sleeper.WokenAt(); at > p.wake.at {
		return wakeUp{at, p.ctl.Sleeper.WokenByTimer()}
	}
	return p.wake
}

// hasPreempted reports whether the wake-up at woken preempted the thread of files.
func (p *Preemption) hasPreempted(files *procmem.ThreadFiles, woken ptrace.Moment) bool {
	p.queriesLeft = queriedFor
	if !p.readArrival(woken) {
		return false
	}
	if lastRun, ok := files.LastRun(); !ok || lastRun != p.arrival {
		return false
	}
	p.setFound(woken)
	return true
}

func (p *Preemption) isFound(woken ptrace.Moment) bool { return p.foundAt == woken && woken != 0 }

// Precondition: the tracer has not slept since.
func (p *Preemption) setFound(woken ptrace.Moment) {
	p.foundAt, p.foundInTick, p.preemptedCPU = woken, true, p.cpuAt(woken)
}

// cpuAt returns the tracer's CPU since a wake-up.
func (p *Preemption) cpuAt(woken ptrace.Moment) int {
	if p.cpuWake != woken || woken == 0 {
		p.cpuWake, p.cpu = woken, procmem.CPU()
	}
	return p.cpu
}

// readArrival reads, once per wake-up, when the tracer arrived on its CPU; false if that is unknown.
func (p *Preemption) readArrival(woken ptrace.Moment) bool {
	if p.arrivalWake != woken || woken == 0 {
		p.arrivalWake = woken
		p.arrival, _ = p.ownFiles().LastRun()
	}
	return p.arrival != 0
}

func (p *Preemption) ownFiles() *procmem.ThreadFiles {
	if p.self == nil {
		p.self = procmem.OpenThread(os.Getpid(), unix.Gettid(), procmem.NewFDBudget(0))
	}
	return p.self
}

func (p *Preemption) close() {
	if p.self != nil {
		p.self.Close()
		p.self = nil
	}
}
