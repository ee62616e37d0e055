// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"maps"
	"slices"

	"prywalk/internal/sample"
)

// # Kernel samples of unobserved children
//
// The kernel also samples children that end before discovery. Their CPU time, known when the parent has waited for them
// ([Family]), is divided among these samples. An excess beyond the error of sampling is [ShortLivedChildren].

// in standard errors
const samplesError = 2

// # Children found by ticks
//
// Without the kernel's samples, a tick can find an unobserved child on a processor: it stands for the time between two
// ticks. Mostly its stack is sampled too; else only its program is known ([Seen.Found]).

// ChildUsed adds CPU time of unobserved children that ran a program, ns: a lower bound.
func (p *Process) ChildUsed(program string, ns int64) {
	if p.childrenUsed == nil {
		p.childrenUsed = map[string]int64{}
	}
	if _, known := p.childrenUsed[program]; !known && len(p.childrenUsed) >= mostPrograms {
		return
	}
	p.childrenUsed[program] += ns
}

const mostPrograms = 1 << 10

// ClaimOfChild adds a claim of period ns for an unobserved child that was found on a processor.
func (p *Process) ClaimOfChild(where Seen, at, period int64) { p.childClaims.add(where, at, period) }

// PassChildrenTo passes the time of p's children to its waiter.
func (p *Process) PassChildrenTo(to *Process, ns int64) {
	to.childClaims.join(&p.childClaims)
	to.passedIn += p.passedIn + ns
	to.childrenSkidded += p.childrenSkidded
	for program, used := range p.childrenUsed {
		to.ChildUsed(program, used)
	}
	to.joinCounts(p)
	p.passedIn, p.childrenSkidded, p.childrenUsed = 0, 0, nil
}

// CPU time, in periods, from which a process's own samples suffice
const shortProcess = 16

// PassTo passes unobserved time ([Process.Unseen], ns) and claims of a short observed child to its waiter. It reports
// false, without effect, from [shortProcess] periods on.
func (p *Process) PassTo(to *Process, unseen, period int64, program string) bool {
	if p.used+unseen >= shortProcess*period {
		return false
	}
	p.claims.join(&p.unproven)
	kids := p.claims.of(program)
	to.childClaims.join(&kids)
	to.childrenSkidded += p.skidded.ns
	to.passedIn += unseen + p.returned
	to.ChildUsed(program, unseen+p.returned)
	p.claims, p.skidded, p.returned = claims{}, skidded{}, 0
	return true
}

// Children attributes the time of unobserved children, ns: to counted programs, samples, programs with known time, and
// [ShortLivedChildren].
func (p *Process) Children(ns, now int64, emit func(Span)) {
	book := p.childPayer(now, emit)
	rest := p.payCounted(ns+p.passedIn, now, true, book)
	rest = p.childClaims.payUpTo(rest, p.childrenSkidded+p.childClaims.byChance(), book)
	rest = p.payKnown(rest, now, book)
	p.childClaims, p.passedIn, p.childrenSkidded, p.childrenUsed = claims{}, 0, 0, nil
	p.counted, p.countedSum, p.childrenEnds = false, 0, nil
	p.emitEnded(Span{Seen: Seen{State: sample.Running}, Leaf: ShortLivedChildren, End: now}, rest, emit)
}

// ChildrenSoFar attributes claimed time while more can follow.
func (p *Process) ChildrenSoFar(ns, now int64, emit func(Span)) {
	book := p.childPayer(now, emit)
	if p.passedIn += ns; p.counted {
		p.passedIn = p.payCounted(p.passedIn, now, false, book)
	} else {
		p.passedIn = p.childClaims.pay(p.passedIn, book)
	}
}

func (p *Process) childPayer(now int64, emit func(Span)) func(claim, int64) {
	return func(k claim, ns int64) {
		p.emitEnded(Span{Seen: k.where, Leaf: k.where.Found.leaf(), End: min((k.second+1)*1e9, now)}, ns, emit)
		if p.childrenUsed != nil {
			p.childrenUsed[k.where.Program] -= ns
		}
	}
}

// payKnown attributes the known time of programs, and gives the rest.
func (p *Process) payKnown(pool, now int64, book func(claim, int64)) (left int64) {
	var sum, counted, paid int64
	for _, ns := range p.childrenUsed {
		sum += max(ns, 0)
	}
	if sum == 0 || pool <= 0 {
		return pool
	}
	pays := min(pool, sum)
	for _, program := range slices.Sorted(maps.Keys(p.childrenUsed)) {
		counted += max(p.childrenUsed[program], 0)
		if share := portion(pays, counted, sum) - paid; share > 0 {
			paid += share
			book(claim{Seen{State: sample.Running, Program: program, Found: FoundUnseen}, now / 1e9}, share)
		}
	}
	return pool - pays
}

type missed struct {
	ns, n   int64
	samples int64
	paid    int64 // given their part
	second  int64
}

// settleMissed divides the claims of missed samples among samples of the same program: whether a sample is missed does
// not depend on what the child does.
func (c *claims) settleMissed() {
	of := c.takeMissed()
	if of == nil {
		return
	}
	for k, n := range c.samples {
		if m := of[k.where.Program]; m != nil && k.where.Found.sampled() {
			m.samples += n
		}
	}
	for _, k := range inOrder(c.samples) {
		if m := of[k.where.Program]; m != nil && k.where.Found.sampled() {
			before, ns, n := m.paid, portion(m.ns, m.paid, m.samples), portion(m.n, m.paid, m.samples)
			m.paid = before + c.samples[k]
			c.ns[k] += portion(m.ns, m.paid, m.samples) - ns
			c.samples[k] += portion(m.n, m.paid, m.samples) - n
		}
	}
	for program, m := range of {
		if m.samples == 0 {
			k := c.at(Seen{State: sample.Running, Program: program, Found: FoundUnseen}, m.second)
			c.ns[k] += m.ns
			c.samples[k] += m.n
		}
	}
}

func (c *claims) takeMissed() (of map[string]*missed) {
	for k, n := range c.samples {
		if k.where.Found != FoundMissed {
			continue
		}
		if of == nil {
			of = map[string]*missed{}
		}
		m := of[k.where.Program]
		if m == nil {
			m = &missed{}
			of[k.where.Program] = m
		}
		m.ns, m.n, m.second = m.ns+c.ns[k], m.n+n, max(m.second, k.second)
		delete(c.ns, k)
		delete(c.samples, k)
	}
	return of
}
