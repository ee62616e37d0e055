// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/base/sample"

// processAccount is the account of a process and of its unobserved children.
type processAccount struct {
	id              sample.ProcessID
	fromStart       bool
	ended           bool
	node            *cutimeNode // nil if children's time is not attributed
	passedTo        *processAccount
	since           int64 // CLOCK_MONOTONIC ns
	threadsFiltered bool
	// sampledFromStart is as in [Scope].
	sampledFromStart bool

	emit       func(Span) // takes the spans of ended threads and of children
	attributed int64      // CPU time of threads, with what was distributed of ended ones, ns
	threads    endedThreadTime
	children   childTime
}

// endThread adds an ended thread's CPU time up to its last sample. [processAccount.finishThread] must follow.
func (p *processAccount) endThread(t *threadAccount, e *End) {
	switch {
	case e.Alive:
		t.endAlive(e)
	case !t.begun:
		p.threads.cpuAtLastSamples += e.AtStart.CPU
	default:
		p.threads.cpuAtLastSamples += t.ledger.clocks.last.CPU
		if !p.threadsFiltered {
			p.threads.addWeights(t, p.sampledFromStart)
		}
	}
}

func (p *processAccount) finishThread(t *threadAccount) {
	t.finish()
	p.attributed += t.ledger.clocks.last.CPU - t.ledger.clocks.first.CPU
}

// unobserved returns the time to distribute, ns. ended is [ProcessEnd.EndedThreads].
func (p *processAccount) unobserved(ended int64) int64 {
	return max(ended-p.threads.cpuAtLastSamples-p.threads.distributed, 0)
}

// addUnassigned adds a sample of weight standsFor, ns.
func (p *processAccount) addUnassigned(where Place, at, standsFor int64) {
	if !p.threadsFiltered {
		p.threads.samples.addWeighted(where.asRunning(), at, standsFor)
	}
}

// distributeExited attributes the rest to weighted samples, then to [ExitedUnseen].
func (p *processAccount) distributeExited(unobserved, now int64) {
	rest := p.threads.distribute(unobserved+p.threads.unattributed, atEnd, p.threadEmitter(now))
	p.emitEnded(Span{Place: Place{State: sample.Running}, Leaf: ExitedUnseen, End: now}, rest)
}

// distributeExitedSoFar attributes unobserved time up to the weights. ended is [ProcessEnd.EndedThreads]. Precondition:
// endThread was called for all ended threads.
func (p *processAccount) distributeExitedSoFar(ended, now int64) {
	total := p.unobserved(ended) + p.threads.unattributed
	distributed := total - p.threads.distribute(total, soFar, p.threadEmitter(now))
	ofUnattributed := min(distributed, p.threads.unattributed)
	p.threads.unattributed -= ofUnattributed
	p.threads.distributed += distributed - ofUnattributed
	p.attributed += distributed - ofUnattributed
}

func (p *processAccount) threadEmitter(now int64) func(weightKey, int64) {
	return func(k weightKey, ns int64) {
		p.emitEnded(Span{Place: k.place, End: min((k.second+1)*1e9, now)}, ns)
	}
}

// addUnassignedOfChild adds a sample of weight standsFor, ns.
func (p *processAccount) addUnassignedOfChild(where Place, at, standsFor int64) {
	p.children.samples.addWeighted(where, at, standsFor)
}

// shortProcess is the CPU time, in multiples of T, from which a process's own samples suffice.
const shortProcess = 16

// passUnobservedTo adds an ended process's unobserved time and samples to the children of its parent. It returns false,
// and has no effect, if the process has used shortProcess × standsFor of CPU time or more. Times are in ns.
func (p *processAccount) passUnobservedTo(parent *processAccount, unobserved, standsFor int64, program string) bool {
	if p.attributed+unobserved >= shortProcess*standsFor {
		return false
	}
	from, into := &p.threads, &parent.children
	named := from.samples.withProgram(program)
	into.samples.merge(&named)
	into.unknownWeight += from.skidded.weight
	into.undistributed += unobserved + from.unattributed
	into.add(program, unobserved+from.unattributed)
	from.samples, from.skidded, from.unattributed = weightedSamples{}, skidded{}, 0
	return true
}

// passChildrenTo adds an ended process's children, and ns more, to those of its parent.
func (p *processAccount) passChildrenTo(parent *processAccount, ns int64) {
	from, into := &p.children, &parent.children
	into.samples.merge(&from.samples)
	into.undistributed += from.undistributed + ns
	into.unknownWeight += from.unknownWeight
	for program, t := range from.programs {
		into.add(program, t)
	}
	*from = childTime{}
}

// distributeChildren attributes ns to samples, programs with known time, at last to
// [ShortLivedChildren].
func (p *processAccount) distributeChildren(ns, now int64) {
	c, emitWeight := &p.children, p.childEmitter(now)
	rest := c.samples.distribute(ns+c.undistributed, c.unknownWeight+c.samples.samplingError(), emitWeight)
	rest = c.distributeKnown(rest, now, emitWeight)
	*c = childTime{}
	p.emitEnded(Span{Place: Place{State: sample.Running}, Leaf: ShortLivedChildren, End: now}, rest)
}

// distributeChildrenSoFar attributes ns more, up to the weights.
func (p *processAccount) distributeChildrenSoFar(ns, now int64) {
	c := &p.children
	c.undistributed = c.samples.distribute(c.undistributed+ns, 0, p.childEmitter(now))
}

func (p *processAccount) childEmitter(now int64) func(weightKey, int64) {
	return func(k weightKey, ns int64) {
		p.emitEnded(Span{Place: k.place, Leaf: k.place.ChildState.leaf(), End: min((k.second+1)*1e9, now)}, ns)
		if p.children.programs != nil {
			p.children.add(k.place.Program, -ns)
		}
	}
}

const maxSpans = 1024

// emitEnded emits ns of CPU time that end at s.End, in up to maxSpans spans if one would begin before sampling did.
func (p *processAccount) emitEnded(s Span, ns int64) {
	for window := max(s.End-p.since, ns/maxSpans+1); ns > 0; ns -= window {
		s.CPU = min(ns, window)
		s.Wall = s.CPU
		p.emit(s)
	}
}
