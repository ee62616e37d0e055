// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"maps"
	"slices"

	"prywalk/internal/sample"
)

// # Children with counted time
//
// Where the kernel records switches (package descendants), the CPU time of unobserved children is known by program
// ([Process.ChildCounted]). Within a program it is divided among samples and marks, if there are at least
// [shortProcess]. The kernel's sum beyond the counts is mostly the ends of children, after their last record, and is
// divided by the number of ends.

// ChildCounted adds CPU time of an unobserved child in a program, ns. exact: the counts now include all children.
func (p *Process) ChildCounted(program string, ns int64, ended, exact bool) {
	p.ChildUsed(program, ns)
	if p.counted = exact; !exact {
		return
	}
	p.countedSum += ns
	if ended {
		p.addEnds(program, 1)
	}
}

func (p *Process) addEnds(program string, n int64) {
	if p.childrenEnds == nil {
		p.childrenEnds = map[string]int64{}
	}
	if _, known := p.childrenEnds[program]; known || len(p.childrenEnds) < mostPrograms {
		p.childrenEnds[program] += n
	}
}

func (p *Process) joinCounts(from *Process) {
	p.counted = p.counted || from.counted
	p.countedSum += from.countedSum
	for program, n := range from.childrenEnds {
		p.addEnds(program, n)
	}
	from.counted, from.countedSum, from.childrenEnds = false, 0, nil
}

// last: no more follows.
func (p *Process) payCounted(pool, now int64, last bool, book func(claim, int64)) (left int64) {
	if !p.counted || pool <= 0 {
		return pool
	}
	claimed := p.childClaims.byProgram()
	left = pool
	due := p.dues(pool, last, claimed)
	for _, program := range slices.Sorted(maps.Keys(due)) {
		c, ns := claimed[program], due[program]
		if c == nil {
			c = &claims{}
		}
		c.settleMissed()
		more := ns - c.total
		if c.n < shortProcess {
			more = min(more, c.byChance()+p.childrenSkidded)
		}
		rest := c.payUpTo(ns, more, book)
		if last {
			delete(claimed, program)
			if rest > 0 {
				book(claim{Seen{State: sample.Running, Program: program, Found: FoundUnseen}, now / 1e9}, rest)
			}
			rest = 0
		}
		left -= ns - rest
	}
	for _, program := range slices.Sorted(maps.Keys(claimed)) {
		p.childClaims.join(claimed[program])
	}
	return left
}

// dues gives the part of the pool by program, ns.
func (p *Process) dues(pool int64, last bool, claimed map[string]*claims) map[string]int64 {
	due := map[string]int64{}
	var sum, ends int64
	for program, ns := range p.childrenUsed {
		if ns > 0 {
			sum += ns
			ends += p.childrenEnds[program]
		}
	}
	if sum == 0 {
		return due
	}
	over := min(max(pool-sum, 0), p.countedSum)
	for program, c := range claimed {
		if p.childrenUsed[program] <= 0 {
			over -= c.total + c.byChance()
		}
	}
	pays, before, paid := min(pool, sum), int64(0), int64(0)
	for _, program := range slices.Sorted(maps.Keys(p.childrenUsed)) {
		ns := p.childrenUsed[program]
		if ns <= 0 {
			continue
		}
		before += ns
		due[program] = portion(pays, before, sum) - paid
		paid += due[program]
		if last && over > 0 && ends > 0 {
			due[program] += portion(over, p.childrenEnds[program], ends)
		}
	}
	return due
}

func (c *claims) byProgram() map[string]*claims {
	parts := map[string]*claims{}
	of := func(program string) *claims {
		part := parts[program]
		if part == nil {
			part = &claims{ns: map[claim]int64{}, samples: map[claim]int64{}, width: c.width, mergeAt: c.mergeAt}
			parts[program] = part
		}
		return part
	}
	for k, ns := range c.ns {
		part := of(k.where.Program)
		part.ns[k] = ns
		part.total += ns
	}
	for k, n := range c.samples {
		part := of(k.where.Program)
		part.samples[k] = n
		part.n += n
	}
	for _, part := range parts {
		if c.n > 0 {
			part.paid = portion(c.paid, part.n, c.n)
		}
	}
	*c = claims{}
	return parts
}
