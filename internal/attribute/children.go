// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"maps"
	"slices"

	"prywalk/internal/sample"
)

// # Kernel samples of unobserved children
//
// The kernel also samples children that end before discovery. Their CPU time, known once the parent has waited for
// them ([ProcessTree]), is distributed among these samples ([timePool]); what exceeds the sampling error is
// [ShortLivedChildren].

// # Children found by ticks
//
// Without kernel samples, an unobserved child that a tick finds on a processor stands for the time between two
// ticks. Of some only the program is known, not the stack ([Seen.Found]).

// childPool is the CPU time of a process's unobserved children, and the samples among which it is distributed.
type childPool struct {
	weights      timePool
	fromChildren int64 // passed on by observed children, ns
	unplaced     int64 // sum of weights without a usable place, ns
	programs     map[string]*programTime
	counted      bool  // programs has the time of all children (counted.go)
	countedSum   int64 // sum of the counted time, ns
}

// programTime is the time of the children that ran one program.
type programTime struct {
	used  int64 // lower bound of what is not attributed yet, ns
	ended int64 // number of ended children; 0: not counted
}

const mostPrograms = 1 << 10 // in a childPool

// ChildUsed adds CPU time of unobserved children in a program, ns: a lower bound.
func (p *Process) ChildUsed(program string, ns int64) { p.children.addUsed(program, ns) }

func (c *childPool) addUsed(program string, ns int64) {
	if c.programs == nil {
		c.programs = map[string]*programTime{}
	}
	if c.programs[program] != nil || len(c.programs) < mostPrograms {
		c.program(program).used += ns
	}
}

func (c *childPool) program(program string) *programTime {
	t := c.programs[program]
	if t == nil {
		t = &programTime{}
		c.programs[program] = t
	}
	return t
}

func (c *childPool) used(program string) int64 {
	if t := c.programs[program]; t != nil {
		return t.used
	}
	return 0
}

// ClaimOfChild adds a sample of an unobserved child on a processor, with weight period, ns.
func (p *Process) ClaimOfChild(where Seen, at, period int64) {
	p.children.weights.add(where, at, period)
}

// PassChildrenTo passes the time of p's children, and ns more, to its waiter.
func (p *Process) PassChildrenTo(to *Process, ns int64) {
	from, into := &p.children, &to.children
	into.weights.merge(&from.weights)
	into.fromChildren += from.fromChildren + ns
	into.unplaced += from.unplaced
	for program, t := range from.programs {
		into.addUsed(program, t.used)
		into.addEnded(program, t.ended)
	}
	into.counted = into.counted || from.counted
	into.countedSum += from.countedSum
	*from = childPool{}
}

// shortProcess is the CPU time, in periods, from which a process's own samples suffice.
const shortProcess = 16

// PassTo passes unobserved time ([Process.Unseen], ns) and samples of a short observed child to its waiter. From
// [shortProcess] periods on it has no effect and returns false.
func (p *Process) PassTo(to *Process, unseen, period int64, program string) bool {
	if p.used+unseen >= shortProcess*period {
		return false
	}
	from, into := &p.threads, &to.children
	from.weights.merge(&from.unproven)
	named := from.weights.withProgram(program)
	into.weights.merge(&named)
	into.unplaced += from.skidded.ns
	into.fromChildren += unseen + from.carriedBack
	into.addUsed(program, unseen+from.carriedBack)
	from.weights, from.skidded, from.carriedBack = timePool{}, skidded{}, 0
	return true
}

// Children attributes ns of unobserved children: to counted programs, to samples, to programs with known time, the
// rest to [ShortLivedChildren].
func (p *Process) Children(ns, now int64, emit func(Span)) {
	c, emitWeight := &p.children, p.childEmitter(now, emit)
	rest := c.distributeCounted(ns+c.fromChildren, now, true, emitWeight)
	rest = c.weights.distribute(rest, c.unplaced+c.weights.samplingError(), emitWeight)
	rest = c.distributeKnown(rest, now, emitWeight)
	*c = childPool{}
	p.emitEnded(Span{Seen: Seen{State: sample.Running}, Leaf: ShortLivedChildren, End: now}, rest, emit)
}

// ChildrenSoFar attributes ns more of unobserved children, up to the weights of samples; more can follow.
func (p *Process) ChildrenSoFar(ns, now int64, emit func(Span)) {
	c, emitWeight := &p.children, p.childEmitter(now, emit)
	if c.fromChildren += ns; c.counted {
		c.fromChildren = c.distributeCounted(c.fromChildren, now, false, emitWeight)
	} else {
		c.fromChildren = c.weights.distribute(c.fromChildren, 0, emitWeight)
	}
}

// childEmitter emits time of a weight, and subtracts it from the known time of its program.
func (p *Process) childEmitter(now int64, emit func(Span)) func(weightKey, int64) {
	return func(k weightKey, ns int64) {
		p.emitEnded(Span{Seen: k.place, Leaf: k.place.Found.leaf(), End: min((k.second+1)*1e9, now)}, ns, emit)
		if p.children.programs != nil {
			p.children.program(k.place.Program).used -= ns
		}
	}
}

// distributeKnown attributes the known time of programs, up to total ns, and returns the rest of total.
func (c *childPool) distributeKnown(total, now int64, emitWeight func(weightKey, int64)) (left int64) {
	var sum, passed, given int64
	for _, t := range c.programs {
		sum += max(t.used, 0)
	}
	if sum == 0 || total <= 0 {
		return total
	}
	gives := min(total, sum)
	for _, program := range slices.Sorted(maps.Keys(c.programs)) {
		passed += max(c.used(program), 0)
		if share := sample.Portion(gives, passed, sum) - given; share > 0 {
			given += share
			emitWeight(programKey(program, now), share)
		}
	}
	return total - gives
}

// programKey is the place of time of which only the program is known.
func programKey(program string, now int64) weightKey {
	return weightKey{Seen{State: sample.Running, Program: program, Found: FoundUnseen}, now / 1e9}
}
