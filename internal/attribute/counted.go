// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"maps"
	"slices"

	"prywalk/internal/sample"
)

// # Children whose time was counted
//
// Where the kernel tells of switches, it is known of each child that nobody met what it has used while it ran which
// program ([Process.ChildCounted]). So each program has its time, whether ticks have met it or not. Within a program
// that is shared out among the looks and marks that met it. With [shortProcess] of them these say where its time went,
// however many were missed: ticks come late where prywalk waits for a processor. With fewer they have what they may
// stand for by chance, and the rest is of the program only.
//
// What the kernel's sum has beyond that is mostly of the ends of children, after their last record. So it is shared out
// by the number of ends, as far as it is no more than was counted. What is left stays as it is without counts.

// ChildCounted takes note that a child that nobody met has used so much while it ran a program. ended: no more of it
// is to come. exact: so it is for all of them from now on.
func (p *Process) ChildCounted(program string, ns int64, ended, exact bool) {
	p.ChildUsed(program, ns)
	if p.counted = exact; !exact {
		return
	}
	p.countedNS += ns
	if ended {
		p.addEnds(program, 1)
	}
}

// addEnds takes note that so many children of a program have ended.
func (p *Process) addEnds(program string, n int64) {
	if p.kidsEnds == nil {
		p.kidsEnds = map[string]int64{}
	}
	if _, known := p.kidsEnds[program]; known || len(p.kidsEnds) < mostKidsUsed {
		p.kidsEnds[program] += n
	}
}

// joinCounts takes over what was counted of another process's children.
func (p *Process) joinCounts(from *Process) {
	p.counted = p.counted || from.counted
	p.countedNS += from.countedNS
	for program, n := range from.kidsEnds {
		p.addEnds(program, n)
	}
	from.counted, from.countedNS, from.kidsEnds = false, 0, nil
}

// payCounted books of a pool what was counted of each program. last: there is nothing to come. It gives what is left.
func (p *Process) payCounted(pool, now int64, last bool, book func(claim, int64)) (left int64) {
	if !p.counted || pool <= 0 {
		return pool
	}
	claimed := p.kids.byProgram()
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
			more = min(more, c.byChance()+p.kidsSkidded)
		}
		rest := c.payUpTo(ns, more, book)
		if last {
			delete(claimed, program) // they have had what there is
			if rest > 0 {
				book(claim{Seen{State: sample.Running, Program: program, Met: MetUnseen}, now / 1e9}, rest)
			}
			rest = 0
		}
		left -= ns - rest
	}
	for _, program := range slices.Sorted(maps.Keys(claimed)) {
		p.kids.join(claimed[program])
	}
	return left
}

// dues gives what each program is to have of a pool, in nanoseconds. Their sum is not more than that.
func (p *Process) dues(pool int64, last bool, claimed map[string]*claims) map[string]int64 {
	due := map[string]int64{}
	var sum, ends int64
	for program, ns := range p.kidsUsed {
		if ns > 0 {
			sum += ns
			ends += p.kidsEnds[program]
		}
	}
	if sum == 0 {
		return due
	}
	over := min(max(pool-sum, 0), p.countedNS)
	for program, c := range claimed {
		if p.kidsUsed[program] <= 0 { // of a program that nobody counted
			over -= c.total + c.byChance()
		}
	}
	pays, before, paid := min(pool, sum), int64(0), int64(0)
	for _, program := range slices.Sorted(maps.Keys(p.kidsUsed)) {
		ns := p.kidsUsed[program]
		if ns <= 0 {
			continue
		}
		before += ns
		due[program] = portion(pays, before, sum) - paid
		paid += due[program]
		if last && over > 0 && ends > 0 {
			due[program] += portion(over, p.kidsEnds[program], ends)
		}
	}
	return due
}

// byProgram takes the claims apart by what ran. None are left.
func (c *claims) byProgram() map[string]*claims {
	parts := map[string]*claims{}
	of := func(program string) *claims {
		part := parts[program]
		if part == nil {
			part = &claims{ns: map[claim]int64{}, met: map[claim]int64{}, width: c.width, full: c.full}
			parts[program] = part
		}
		return part
	}
	for k, ns := range c.ns {
		part := of(k.where.Program)
		part.ns[k] = ns
		part.total += ns
	}
	for k, n := range c.met {
		part := of(k.where.Program)
		part.met[k] = n
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
