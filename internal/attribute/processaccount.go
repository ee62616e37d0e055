// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// ProcessAccount is the account of a process and of its unobserved children.
type ProcessAccount struct {
	Since           int64 // start of sampling, CLOCK_MONOTONIC ns
	ThreadsFiltered bool
	PeriodPerSample bool // the kernel takes samples: each stands for one period

	attributed int64 // CPU time of its threads, ns
	threads    threadPool
	children   childPool
}

// EndThread adds an ended thread's CPU time up to its last sample. [ProcessAccount.FinishThread] must follow.
func (p *ProcessAccount) EndThread(t *ThreadAccount, e *End, emit func(Span)) {
	switch {
	case !e.Alive && t.begun:
		p.threads.cpuAtLastSamples += t.ledger.last.CPU
		if !p.ThreadsFiltered {
			p.threads.addWeights(t, p.PeriodPerSample)
		}
	case !e.Alive:
		p.threads.cpuAtLastSamples += e.AtStart.CPU
	case e.AtEnd.Wall == 0:
	case t.begun:
		if e.AtEnd.CPU > t.ledger.last.CPU {
			t.ledger.EndWithoutSample(e.AtEnd, e.Patience, emit)
		}
	case e.AtEnd.CPU > e.AtStart.CPU:
		t.begun = true
		if t.CreatedAt != 0 {
			t.ledger.Begin(t.clocksAtCreation(e.AtEnd))
		} else {
			t.ledger.Begin(e.AtStart)
		}
		t.ledger.EndWithoutSample(e.AtEnd, 0, emit)
	}
}

// FinishThread attributes all that is left of a thread.
func (p *ProcessAccount) FinishThread(t *ThreadAccount, gaps Gaps, emit func(Span)) {
	t.Finish(gaps, emit)
	p.attributed += t.ledger.last.CPU - t.ledger.first.CPU
}

// AttributeDeferredOf attributes an ended thread's deferred samples, as unobserved time where many samples skid.
func (p *ProcessAccount) AttributeDeferredOf(t *ThreadAccount, gaps Gaps, emit func(Span)) {
	t.attributeDeferredAs(t.CreatedAt != 0 && t.Samples < longLife && p.threads.hasManySkids(), gaps, emit)
}

// Attributed returns the CPU time of all threads up to their last samples, and of
// [ProcessAccount.DistributeExitedSoFar], ns.
func (p *ProcessAccount) Attributed() int64 { return p.attributed }

// Unobserved returns the part of ended ([ProcessEnd.EndedThreads]) that is not attributed, ns.
func (p *ProcessAccount) Unobserved(ended int64) int64 {
	return max(ended-p.threads.cpuAtLastSamples-p.threads.distributed, 0)
}

// AddUnassigned adds a sample of weight period, ns, of a thread that ended before its clocks were read again.
func (p *ProcessAccount) AddUnassigned(where Place, at, period int64) {
	if !p.ThreadsFiltered {
		where.State, where.Wait = sample.Running, ""
		p.threads.weights.addWeighted(where, at, period)
	}
}

// DistributeExited attributes the rest of a process's CPU time to weighted samples, then to [ExitedUnseen].
func (p *ProcessAccount) DistributeExited(unobserved, now int64, emit func(Span)) {
	rest := p.threads.distribute(unobserved+p.threads.unattributed, true, p.threadEmitter(now, emit))
	p.emitEnded(Span{Place: Place{State: sample.Running}, Leaf: ExitedUnseen, End: now}, rest, emit)
}

// DistributeExitedSoFar attributes unobserved time up to the weights; more can follow. ended is
// [ProcessEnd.EndedThreads]. Precondition: EndThread was called for all ended threads.
func (p *ProcessAccount) DistributeExitedSoFar(ended, now int64, emit func(Span)) {
	total := p.Unobserved(ended) + p.threads.unattributed
	booked := total - p.threads.distribute(total, false, p.threadEmitter(now, emit))
	back := min(booked, p.threads.unattributed)
	p.threads.unattributed -= back
	p.threads.distributed += booked - back
	p.attributed += booked - back
}

func (p *ProcessAccount) threadEmitter(now int64, emit func(Span)) func(weightKey, int64) {
	return func(k weightKey, ns int64) {
		p.emitEnded(Span{Place: k.place, End: min((k.second+1)*1e9, now)}, ns, emit)
	}
}

// AddUnassignedOfChild adds a sample of weight period, ns, of an unobserved child on a processor.
func (p *ProcessAccount) AddUnassignedOfChild(where Place, at, period int64) {
	p.children.weights.addWeighted(where, at, period)
}

// AddCountedChild adds CPU time of an unobserved child in a program, ns. ended: the child has ended; exact: the counts
// now include all children.
func (p *ProcessAccount) AddCountedChild(program string, ns int64, ended, exact bool) {
	c := &p.children
	c.addKnownCPU(program, ns)
	c.programsComplete = exact
	if !exact {
		return
	}
	c.countedCPU += ns
	if ended {
		c.addEnded(program, 1)
	}
}

// shortProcess is the CPU time, in periods, from which a process's own samples suffice.
const shortProcess = 16

// PassUnobservedTo passes unobserved time (ns) and samples of an observed child to its waiter; false, without effect,
// from [shortProcess] periods on.
func (p *ProcessAccount) PassUnobservedTo(to *ProcessAccount, unobserved, period int64, program string) bool {
	if p.attributed+unobserved >= shortProcess*period {
		return false
	}
	from, into := &p.threads, &to.children
	from.weights.merge(&from.unproven)
	named := from.weights.withProgram(program)
	into.weights.merge(&named)
	into.unplacedWeight += from.skidded.weight
	into.passedOn += unobserved + from.unattributed
	into.addKnownCPU(program, unobserved+from.unattributed)
	from.weights, from.skidded, from.unattributed = timePool{}, skidded{}, 0
	return true
}

// PassChildrenTo passes the time of p's children, and ns more, to its waiter.
func (p *ProcessAccount) PassChildrenTo(to *ProcessAccount, ns int64) {
	from, into := &p.children, &to.children
	into.weights.merge(&from.weights)
	into.passedOn += from.passedOn + ns
	into.unplacedWeight += from.unplacedWeight
	for program, t := range from.programs {
		into.addKnownCPU(program, t.knownCPU)
		into.addEnded(program, t.ended)
	}
	into.programsComplete = into.programsComplete || from.programsComplete
	into.countedCPU += from.countedCPU
	*from = childPool{}
}

// DistributeChildren attributes ns of unobserved children to counted programs, samples, programs with known time, at
// last to [ShortLivedChildren].
func (p *ProcessAccount) DistributeChildren(ns, now int64, emit func(Span)) {
	c, emitWeight := &p.children, p.childEmitter(now, emit)
	rest := c.distributeCounted(ns+c.passedOn, now, true, emitWeight)
	rest = c.weights.distribute(rest, c.unplacedWeight+c.weights.samplingError(), emitWeight)
	rest = c.distributeKnown(rest, now, emitWeight)
	*c = childPool{}
	p.emitEnded(Span{Place: Place{State: sample.Running}, Leaf: ShortLivedChildren, End: now}, rest, emit)
}

// DistributeChildrenSoFar attributes ns more of unobserved children, up to the weights; more can follow.
func (p *ProcessAccount) DistributeChildrenSoFar(ns, now int64, emit func(Span)) {
	c, emitWeight := &p.children, p.childEmitter(now, emit)
	c.passedOn += ns
	if c.programsComplete {
		c.passedOn = c.distributeCounted(c.passedOn, now, false, emitWeight)
	} else {
		c.passedOn = c.weights.distribute(c.passedOn, 0, emitWeight)
	}
}

// childEmitter subtracts what it emits from the known time of the program.
func (p *ProcessAccount) childEmitter(now int64, emit func(Span)) func(weightKey, int64) {
	return func(k weightKey, ns int64) {
		p.emitEnded(Span{Place: k.place, Leaf: k.place.Found.leaf(), End: min((k.second+1)*1e9, now)}, ns, emit)
		if p.children.programs != nil {
			p.children.program(k.place.Program).knownCPU -= ns
		}
	}
}

const mostSpans = 1024

// emitEnded emits ns of CPU time that end at s.End, divided where a span would begin before sampling did.
func (p *ProcessAccount) emitEnded(s Span, ns int64, emit func(Span)) {
	for window := max(s.End-p.Since, ns/mostSpans+1); ns > 0; ns -= window {
		s.CPU = min(ns, window)
		s.Wall = s.CPU
		emit(s)
	}
}
