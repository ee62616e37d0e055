// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"maps"
	"slices"

	"prywalk/internal/sample"
)

// # Samples of children that nobody met
//
// With the kernel's samples it is known what children did that ended before anyone could look at them: each sample
// stands for one period. What they used in all is known when their parent has waited for them ([Family]). That is
// shared out among the samples. All of the children's time is sampled alike. So what is more than the samples stand
// for is left as [ShortLivedChildren] only as far as it is more than the error of sampling.

// samplesError is how many standard errors of the samples' number a difference may have that is taken for chance. One
// in 40 recordings has a larger one by chance.
const samplesError = 2

//
// # Children that ticks met
//
// Without the kernel's samples a tick still finds such a child among the processes that were just born. One that is on
// a processor then stands for the time between two ticks, as a look does. Mostly a look tells its stack; without one,
// what it runs is known ([Seen.Met]). What is unseen of children that were opened and ended soon is put together with
// that. The rest is as with samples.
//
// Of some children it is known what they have used at least: of those that were opened, and of those that were there at
// several ticks. Where claims do not reach, that tells the programs of what is left ([Process.ChildUsed]).

// ChildUsed takes note that children that nobody met have used so much, at least, while they ran a program.
func (p *Process) ChildUsed(program string, ns int64) {
	if p.kidsUsed == nil {
		p.kidsUsed = map[string]int64{}
	}
	if _, known := p.kidsUsed[program]; !known && len(p.kidsUsed) >= mostKidsUsed {
		return // names without end: its time stays without one
	}
	p.kidsUsed[program] += ns
}

// mostKidsUsed bounds the programs of which that is known.
const mostKidsUsed = 1 << 10

// ClaimOfChild takes note of a sample of a child that nobody met, or of a tick that found it on a processor. It stands
// for one period.
func (p *Process) ClaimOfChild(where Seen, at, period int64) { p.kids.add(where, at, period) }

// PassChildrenTo gives what [Process.Children] would book to the process that waited for this one.
func (p *Process) PassChildrenTo(to *Process, ns int64) {
	to.kids.join(&p.kids)
	to.passedOn += p.passedOn + ns
	to.kidsSkidded += p.kidsSkidded
	for program, used := range p.kidsUsed {
		to.ChildUsed(program, used)
	}
	to.joinCounts(p)
	p.passedOn, p.kidsSkidded, p.kidsUsed = 0, 0, nil
}

// shortProcess is from how many periods of processor time on a process's own samples say where its time went.
const shortProcess = 16

// PassTo gives what is unseen of a child that was met, with what has a claim on it, to the process that waited for
// it. Looks that skid have one, too, which is spread over those that tell. It is unseen nanoseconds of the process's
// clock ([Process.Unseen]). One child of a few milliseconds has a sample or none, but all of them together have many.
// It is not done, and false, if the child has used so much that its own samples say enough: a period is the time that
// each stands for.
func (p *Process) PassTo(to *Process, unseen, period int64, program string) bool {
	if p.used+unseen >= shortProcess*period {
		return false
	}
	p.claims.join(&p.unproven)
	kids := p.claims.of(program)
	to.kids.join(&kids)
	to.kidsSkidded += p.skidded.ns
	to.passedOn += unseen + p.givenBack
	to.ChildUsed(program, unseen+p.givenBack)
	p.claims, p.skidded, p.givenBack = claims{}, skidded{}, 0
	return true
}

// Children books processor time of the process's children that nobody met: what was counted of programs, and then under
// what was sampled. Then come the programs that have used more than that. The rest is [ShortLivedChildren].
func (p *Process) Children(ns, now int64, emit func(Span)) {
	book := p.childrensBook(now, emit)
	rest := p.payCounted(ns+p.passedOn, now, true, book)
	rest = p.kids.payUpTo(rest, p.kidsSkidded+p.kids.byChance(), book)
	rest = p.payKnown(rest, now, book)
	p.kids, p.passedOn, p.kidsSkidded, p.kidsUsed = claims{}, 0, 0, nil
	p.counted, p.countedNS, p.kidsEnds = false, 0, nil
	p.ofEnded(Span{Seen: Seen{State: sample.Running}, Leaf: ShortLivedChildren, End: now}, rest, emit)
}

// ChildrenSoFar books of such time what is claimed. There is more to come of it, and of claims.
func (p *Process) ChildrenSoFar(ns, now int64, emit func(Span)) {
	book := p.childrensBook(now, emit)
	if p.passedOn += ns; p.counted {
		p.passedOn = p.payCounted(p.passedOn, now, false, book)
	} else {
		p.passedOn = p.kids.pay(p.passedOn, book)
	}
}

// childrensBook gives what books children's time.
func (p *Process) childrensBook(now int64, emit func(Span)) func(claim, int64) {
	return func(k claim, ns int64) {
		p.ofEnded(Span{Seen: k.where, Leaf: k.where.Met.leaf(), End: min((k.second+1)*1e9, now)}, ns, emit)
		if p.kidsUsed != nil {
			p.kidsUsed[k.where.Program] -= ns
		}
	}
}

// payKnown books what programs are known to have used and nobody has booked, in proportion if there is less. It gives
// what is left.
func (p *Process) payKnown(pool, now int64, book func(claim, int64)) (left int64) {
	var sum, counted, paid int64
	for _, ns := range p.kidsUsed {
		sum += max(ns, 0)
	}
	if sum == 0 || pool <= 0 {
		return pool
	}
	pays := min(pool, sum)
	for _, program := range slices.Sorted(maps.Keys(p.kidsUsed)) {
		counted += max(p.kidsUsed[program], 0)
		if share := portion(pays, counted, sum) - paid; share > 0 {
			paid += share
			book(claim{Seen{State: sample.Running, Program: program, Met: MetUnseen}, now / 1e9}, share)
		}
	}
	return pool - pays
}

// missed is the missed looks at a program.
type missed struct {
	ns, n  int64
	looked int64 // looks at others that ran it
	passed int64 // those of them that have got their part
	second int64 // of the last of them
}

// settleMissed has missed looks, and what they claim, go to the looks that were made at the same program, to each as
// much. Which are missed has nothing to do with what a child does. Who was seen to exit was not to be looked at, and
// gets nothing. Without looks the program is known.
func (c *claims) settleMissed() {
	of := c.takeMissed()
	if of == nil {
		return
	}
	for k, n := range c.met {
		if m := of[k.where.Program]; m != nil && k.where.Met.looked() {
			m.looked += n
		}
	}
	for _, k := range inOrder(c.met) {
		if m := of[k.where.Program]; m != nil && k.where.Met.looked() {
			before, ns, n := m.passed, portion(m.ns, m.passed, m.looked), portion(m.n, m.passed, m.looked)
			m.passed = before + c.met[k]
			c.ns[k] += portion(m.ns, m.passed, m.looked) - ns
			c.met[k] += portion(m.n, m.passed, m.looked) - n
		}
	}
	for program, m := range of {
		if m.looked == 0 {
			k := c.at(Seen{State: sample.Running, Program: program, Met: MetUnseen}, m.second)
			c.ns[k] += m.ns
			c.met[k] += m.n
		}
	}
}

// takeMissed takes missed looks out of the claims, but leaves their sums. nil: there are none.
func (c *claims) takeMissed() (of map[string]*missed) {
	for k, n := range c.met {
		if k.where.Met != MetMissed {
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
		delete(c.met, k)
	}
	return of
}
