// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// ProcessAccount is the account of a process and of its unobserved children.
type ProcessAccount struct {
	Since           int64 // CLOCK_MONOTONIC ns
	ThreadsFiltered bool
	// SampledFromStart is as in [Options].
	SampledFromStart bool

	emit       func(Span) // takes the spans of ended threads and of children
	attributed int64      // CPU time of threads, with what was distributed of ended ones, ns
	threads    endedThreadTime
	children   childTime
}

// EndThread adds an ended thread's CPU time up to its last sample. [ProcessAccount.FinishThread] must follow.
func (p *ProcessAccount) EndThread(t *ThreadAccount, e *End) {
	switch {
	case e.Alive:
		t.endAlive(e)
	case !t.begun:
		p.threads.cpuAtLastSamples += e.AtStart.CPU
	default:
		p.threads.cpuAtLastSamples += t.ledger.clocks.last.CPU
		if !p.ThreadsFiltered {
			p.threads.addWeights(t, p.SampledFromStart)
		}
	}
}

// FinishThread attributes all that is left of a thread.
func (p *ProcessAccount) FinishThread(t *ThreadAccount) {
	t.Finish()
	p.attributed += t.ledger.clocks.last.CPU - t.ledger.clocks.first.CPU
}

// AttributeDeferredOf attributes an ended thread's deferred samples, as unobserved time where many samples skid.
func (p *ProcessAccount) AttributeDeferredOf(t *ThreadAccount) {
	t.attributeDeferredAs(t.CreatedAt != 0 && t.Samples < longLifeTicks && p.threads.hasManySkids())
}

// Unobserved returns the time to distribute, ns. ended is [ProcessEnd.EndedThreads].
func (p *ProcessAccount) Unobserved(ended int64) int64 {
	return max(ended-p.threads.cpuAtLastSamples-p.threads.distributed, 0)
}

// AddUnassigned adds a sample of weight standsFor, ns.
func (p *ProcessAccount) AddUnassigned(where Place, at, standsFor int64) {
	if !p.ThreadsFiltered {
		p.threads.proven.addWeighted(where.asRunning(), at, standsFor)
	}
}

// DistributeExited attributes the rest to weighted samples, then to [ExitedUnseen].
func (p *ProcessAccount) DistributeExited(unobserved, now int64) {
	rest := p.threads.distribute(unobserved+p.threads.unattributed, atEnd, p.threadEmitter(now))
	p.emitEnded(Span{Place: Place{State: sample.Running}, Leaf: ExitedUnseen, End: now}, rest)
}

// DistributeExitedSoFar attributes unobserved time up to the weights. ended is [ProcessEnd.EndedThreads]. Precondition:
// EndThread was called for all ended threads.
func (p *ProcessAccount) DistributeExitedSoFar(ended, now int64) {
	total := p.Unobserved(ended) + p.threads.unattributed
	distributed := total - p.threads.distribute(total, soFar, p.threadEmitter(now))
	ofUnattributed := min(distributed, p.threads.unattributed)
	p.threads.unattributed -= ofUnattributed
	p.threads.distributed += distributed - ofUnattributed
	p.attributed += distributed - ofUnattributed
}

func (p *ProcessAccount) threadEmitter(now int64) func(weightKey, int64) {
	return func(k weightKey, ns int64) {
		p.emitEnded(Span{Place: k.place, End: min((k.second+1)*1e9, now)}, ns)
	}
}

// AddUnassignedOfChild adds a sample of weight standsFor, ns.
func (p *ProcessAccount) AddUnassignedOfChild(where Place, at, standsFor int64) {
	p.children.samples.addWeighted(where, at, standsFor)
}

// AddCountedChild adds CPU time in a program.
func (p *ProcessAccount) AddCountedChild(e *ChildCounted) {
	c, t := &p.children, programTime{knownCPU: e.CPU}
	if c.programsComplete = e.AllCounted; e.AllCounted {
		c.countedCPU += e.CPU
		if e.ChildEnded {
			t.ended = 1
		}
	}
	c.add(e.Program, t)
}

// shortProcess is the CPU time, in multiples of T, from which a process's own samples suffice.
const shortProcess = 16

// PassUnobservedTo adds an ended process's unobserved time and samples to the children of its parent. It returns false,
// and has no effect, if the process has used shortProcess × standsFor of CPU time or more. Times are in ns.
func (p *ProcessAccount) PassUnobservedTo(parent *ProcessAccount, unobserved, standsFor int64, program string) bool {
	if p.attributed+unobserved >= shortProcess*standsFor {
		return false
	}
	from, into := &p.threads, &parent.children
	from.proven.merge(&from.unproven)
	named := from.proven.withProgram(program)
	into.samples.merge(&named)
	into.unknownWeight += from.skidded.weight
	into.undistributed += unobserved + from.unattributed
	into.add(program, programTime{knownCPU: unobserved + from.unattributed})
	from.proven, from.skidded, from.unattributed = weightedSamples{}, skidded{}, 0
	return true
}

// PassChildrenTo adds an ended process's children, and ns more, to those of its parent.
func (p *ProcessAccount) PassChildrenTo(parent *ProcessAccount, ns int64) {
	from, into := &p.children, &parent.children
	into.samples.merge(&from.samples)
	into.undistributed += from.undistributed + ns
	into.unknownWeight += from.unknownWeight
	for program, t := range from.programs {
		into.add(program, t)
	}
	into.programsComplete = into.programsComplete || from.programsComplete
	into.countedCPU += from.countedCPU
	*from = childTime{}
}

// DistributeChildren attributes ns to counted programs, samples, programs with known time, at last to
// [ShortLivedChildren].
func (p *ProcessAccount) DistributeChildren(ns, now int64) {
	c, emitWeight := &p.children, p.childEmitter(now)
	rest := c.distributeCounted(ns+c.undistributed, now, atEnd, emitWeight)
	rest = c.samples.distribute(rest, c.unknownWeight+c.samples.samplingError(), emitWeight)
	rest = c.distributeKnown(rest, now, emitWeight)
	*c = childTime{}
	p.emitEnded(Span{Place: Place{State: sample.Running}, Leaf: ShortLivedChildren, End: now}, rest)
}

// DistributeChildrenSoFar attributes ns more, up to the weights.
func (p *ProcessAccount) DistributeChildrenSoFar(ns, now int64) {
	c, emitWeight := &p.children, p.childEmitter(now)
	c.undistributed += ns
	if c.programsComplete {
		c.undistributed = c.distributeCounted(c.undistributed, now, soFar, emitWeight)
	} else {
		c.undistributed = c.samples.distribute(c.undistributed, 0, emitWeight)
	}
}

func (p *ProcessAccount) childEmitter(now int64) func(weightKey, int64) {
	return func(k weightKey, ns int64) {
		p.emitEnded(Span{Place: k.place, Leaf: k.place.ChildState.leaf(), End: min((k.second+1)*1e9, now)}, ns)
		if p.children.programs != nil {
			p.children.add(k.place.Program, programTime{knownCPU: -ns})
		}
	}
}

const maxSpans = 1024

// emitEnded emits ns of CPU time that end at s.End, in up to maxSpans spans if one would begin before sampling did.
func (p *ProcessAccount) emitEnded(s Span, ns int64) {
	for window := max(s.End-p.Since, ns/maxSpans+1); ns > 0; ns -= window {
		s.CPU = min(ns, window)
		s.Wall = s.CPU
		p.emit(s)
	}
}
