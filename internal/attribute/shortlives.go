// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"cmp"
	"math"
	"slices"

	"prywalk/internal/sample"
)

// # Threads that live shortly
//
// A look at a random moment stands for the whole time between two ticks, T, whatever the age of the thread that it
// meets. The interval that ends with a newborn thread's first look on a processor has less: only the time x that
// the thread has used so far. To book x alone favours what threads do late. What is missing, T − x, is time of
// threads that have ended: what they did after their last look, and what those did that no tick met. In expectation
// it is exactly that much, and at each place of the program as much as was spent there, if ticks know nothing of
// births (docs/short-lives.md). So each such look has a claim of T − x on the unseen time of its process, and so
// have the later ones. Here x is what the thread has used since the one before. It may have waited for a processor.
// If it was met waiting in between, x may be more than T. Then the look has T, and the rest is unseen like what follows
// the last one. It is withheld until the thread has ended, or has lived for long: then it is the look's after all.
// The claims are paid while the process goes on, as far as there is something, and when its account is closed: in
// proportion, if there is less. What is left then stays unseen.
//
// Only threads that were born and have ended while their process was sampled make claims. What others did after their
// last look, or before their first, is not in the pool.
//
// A look at a thread that makes many system calls does not tell where it was, unless it came from its own processor
// (package skid). Threads that live shortly have one look or two, so that few tell. What the others would claim is
// shared out among the claims of those that do. A first look outside of a call is no proof that a thread makes few: the
// thread ends before that is known. To believe these looks alone would leave the calls out. So where many looks of the
// process skid, theirs is shared out, too.

// claims are what looks at threads that have ended have a claim to, of one process.
type claims struct {
	ns    map[claim]int64
	met   map[claim]int64 // how many looks there were, those without a claim included
	total int64
	paid  int64 // what was claimed and is paid, ns
	n     int64 // of all of them

	width int64 // how many seconds an entry stands for, a power of two; 0: one
	full  int   // from how many entries on they are put together; 0: mostClaims
}

// claim is a stack, on a processor, in some seconds of the recording.
type claim struct {
	where  Seen
	second int64 // the last of them, CLOCK_MONOTONIC
}

// # Claims of long runs
//
// A process may go on for days, and each look counts until its end. So looks do not keep their seconds for ever: where
// there are many, each two neighbours in time become one. There are less than four for each stack.

const (
	// mostClaims is from how many entries on they are put together.
	mostClaims = 1 << 12
	// widest is how many seconds an entry stands for at most: three days.
	widest = 1 << 18
)

// at gives the entry of a stack in a second.
func (c *claims) at(where Seen, second int64) claim {
	w := max(c.width, 1)
	return claim{where, second - second%w + w - 1}
}

// note counts a look, and adds what it claims.
func (c *claims) note(where Seen, at, ns int64) {
	if c.ns == nil {
		c.ns, c.met = map[claim]int64{}, map[claim]int64{}
	}
	k := c.at(where, at/1e9)
	if ns > 0 {
		c.ns[k] += ns
		c.total += ns
	}
	c.met[k]++
	c.n++
	c.thin()
}

// thin puts entries together where there are many.
func (c *claims) thin() {
	c.full = max(c.full, mostClaims)
	if len(c.met) < c.full {
		return
	}
	stacks := map[Seen]struct{}{}
	for k := range c.met {
		stacks[k.where] = struct{}{}
	}
	if len(stacks) > c.full/2 { // time is not what makes them many
		c.full *= 2
		return
	}
	for len(c.met) > c.full/2 && c.width < widest {
		c.widen(2 * max(c.width, 1))
	}
}

// widen has each entry stand for so many seconds.
func (c *claims) widen(width int64) {
	c.width = width
	ns, met := make(map[claim]int64, len(c.ns)/2), make(map[claim]int64, len(c.met)/2)
	for k, v := range c.ns {
		ns[c.at(k.where, k.second)] += v
	}
	for k, v := range c.met {
		met[c.at(k.where, k.second)] += v
	}
	c.ns, c.met = ns, met
}

// add adds a claim of a look at a moment.
func (c *claims) add(where Seen, at, ns int64) {
	if ns > 0 {
		c.note(where, at, ns)
	}
}

// spread adds to the claims what others have that do not tell where: each look that does stands for as many of them.
func (c *claims) spread(more int64) {
	if c.n == 0 || more <= 0 {
		return
	}
	for k, n := range c.met {
		share := portion(more, n, c.n)
		c.ns[k] += share
		c.total += share
	}
}

// pay shares out what there is, at most what is claimed, and gives what is left. The shares add up to the last
// nanosecond.
func (c *claims) pay(pool int64, emit func(claim, int64)) (left int64) {
	return c.payUpTo(pool, 0, emit)
}

// payUpTo is pay of what is claimed and of more, which is shared out among the looks.
func (c *claims) payUpTo(pool, more int64, emit func(claim, int64)) (left int64) {
	c.settleMissed()
	c.spread(more)
	if pool <= 0 || c.total <= 0 {
		return pool
	}
	if pool >= c.total {
		left, pool = pool-c.total, c.total
	}
	var claimed, paid int64
	for _, k := range inOrder(c.ns) {
		claimed += c.ns[k]
		if share := portion(pool, claimed, c.total) - paid; share > 0 {
			paid += share
			if c.ns[k] -= share; c.ns[k] == 0 {
				delete(c.ns, k)
			}
			emit(k, share)
		}
	}
	c.total, c.paid = c.total-paid, c.paid+paid
	return left
}

// inOrder gives the claims in the same order in each run.
func inOrder(of map[claim]int64) []claim {
	order := make([]claim, 0, len(of))
	for k := range of {
		order = append(order, k)
	}
	slices.SortFunc(order, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.second, b.second), cmp.Compare(a.where.Stack, b.where.Stack),
			cmp.Compare(a.where.Program, b.where.Program), cmp.Compare(of[a], of[b]))
	})
	return order
}

// longLife is from how many looks on a thread's own clock says where its time went, those not counted that met it
// waiting for a processor. What it used since it was last met on one goes there, instead of to the pool.
const longLife = 16

// meet books a look, and notes its claim if it met the thread on a processor. At the first such look the thread has
// computed for less than a tick, and at a later one if it has waited for a processor. It is more if looks in between
// met it waiting.
func (t *Thread) meet(l *Look, emit func(Span)) {
	if !l.OnCPU && l.Seen.State == sample.Running {
		t.waited++
	}
	young := t.BornAt != 0 && len(t.claims) < longLife && l.Apart > 0
	if young && l.Basis == sample.Skids && l.Seen.State == sample.Running {
		if t.skidded.n == 0 && len(t.claims) == 0 {
			t.skidded.first = l.Apart - l.At.CPU
		}
		t.skidded.n++
		t.skidded.ns += l.Apart // what it has used goes to the next look that tells where, or back
	}
	switch {
	case !young && l.sampled():
		t.clock.Sample(l.At, l.Seen, emit)
		return
	case !young || !l.OnCPU:
		t.clock.Look(l.At, l.Seen, l.OnCPU, emit)
		return
	}
	got, rest := t.clock.lookUpTo(l.Apart, l.At, l.Seen, true, emit)
	c := claimed{where: l.Seen, at: l.At.Wall, ns: l.Apart - got, withheld: rest, unproven: l.Basis == sample.Undecided}
	c.where.State, c.where.Wait, c.where.WaitsFor, c.where.Owner = sample.Running, "", "", 0
	if t.claims = append(t.claims, c); len(t.claims) == longLife {
		t.release(emit)
	}
}

// release books what was withheld of looks where they met the thread.
func (t *Thread) release(emit func(Span)) {
	for i := range t.claims {
		if c := &t.claims[i]; c.withheld > 0 {
			emit(Span{Seen: c.where, End: c.at, Wall: c.withheld, CPU: c.withheld})
			c.withheld = 0
		}
	}
}

// skidded is what looks at threads on a processor have a claim on that do not tell where it was.
type skidded struct {
	n     int64 // how many they were
	ns    int64
	first int64 // the claim of a thread's first look, if it is one of them, ns
}

// claimed is the claim of one look, until its thread ends.
type claimed struct {
	where    Seen
	at, ns   int64
	withheld int64 // what the thread has used since the look before, beyond what this one stands for, ns
	unproven bool  // whether the look skids was not known when its thread ended
}

// ended takes note of the claims of a thread that has ended. It takes back what the thread's clock would book where the
// thread was last seen, or as not observed: that is as unseen as what came after the last look. Of a long life its own
// clock knows that, and only the first look has a claim. Where the kernel samples all that runs,
// a life with few samples is short, however long the thread slept.
func (p *Process) ended(t *Thread) {
	if t.BornAt == 0 {
		return
	}
	short := t.Looks-t.waited < longLife || p.Sampled && len(t.claims) < longLife
	for i, c := range t.claims {
		switch {
		case !short && (i > 0 || t.skidded.first != 0): // the first look alone has one
		case c.unproven:
			p.unproven.note(c.where, c.at, c.ns)
		default:
			p.claims.note(c.where, c.at, c.ns)
		}
	}
	switch {
	case short:
		p.skidded.n += t.skidded.n
		p.skidded.ns += t.skidded.ns
	case t.skidded.first > 0:
		p.skidded.n++
		p.skidded.ns += t.skidded.first
	}
	t.skidded = skidded{}
	if short {
		p.givenBack += t.clock.giveBack()
		for i := range t.claims {
			p.givenBack += t.claims[i].withheld
		}
		t.claims = nil
	}
}

// giveBack gives the processor time that was carried over, and forgets it.
func (c *Clock) giveBack() int64 {
	ns := c.carryCPU
	c.carryCPU = 0
	return ns
}

// Exited books the processor time of a process that belongs to no look, at the end of its account. As far as it is
// claimed it goes under the stacks of the looks that have a claim, the rest under [ExitedUnseen]. It is of no thread in
// particular.
func (p *Process) Exited(unseen, now int64, emit func(Span)) {
	rest := p.payClaims(unseen+p.givenBack, true, p.estimate(now, emit))
	p.ofEnded(Span{Seen: Seen{State: sample.Running}, Leaf: ExitedUnseen, End: now}, rest, emit)
}

// ExitedSoFar books of such time what is claimed, while the process goes on. There is more to come of it, and of
// claims. ended is as for [Process.Unseen], or less. Precondition: EndThread knows of all threads that ended by then.
func (p *Process) ExitedSoFar(ended, now int64, emit func(Span)) {
	pool := p.Unseen(ended) + p.givenBack
	booked := pool - p.payClaims(pool, false, p.estimate(now, emit))
	back := min(booked, p.givenBack)
	p.givenBack -= back
	p.paid += booked - back
	p.used += booked - back
}

// estimate gives what books such time under the stack of a look.
func (p *Process) estimate(now int64, emit func(Span)) func(claim, int64) {
	return func(k claim, ns int64) {
		p.ofEnded(Span{Seen: k.where, End: min((k.second+1)*1e9, now)}, ns, emit)
	}
}

const (
	// manySkid: if one look in so many skids, a process's threads make many system calls.
	manySkid = 5
	// leastProven is how many looks that are known not to skid are taken for a measure of where time goes.
	leastProven = 16
)

// manySkid reports whether looks of which it is not known whether they skid are not believed.
func (p *Process) manySkid() bool {
	return p.skidded.n > 0 && p.skidded.n*manySkid >= p.unproven.n+p.joined+p.skidded.n &&
		p.claims.n-p.joined >= leastProven
}

// Decide books the looks at a thread that has ended which have waited. As a rule they are those of a thread that makes
// few system calls. Where many looks skid, they do not tell: what they would book of the thread's own time is unseen.
func (p *Process) Decide(t *Thread, gaps Gaps, emit func(Span)) {
	t.bookWaiting(t.BornAt != 0 && t.Looks < longLife && p.manySkid(), gaps, emit)
}

// payClaims pays what looks at short lives claim. What looks claim that do not tell where is paid to the others, to
// each as much: while there are more to come, to no fewer than leastProven. last: none are.
func (p *Process) payClaims(pool int64, last bool, emit func(claim, int64)) (left int64) {
	more := int64(0)
	if p.manySkid() {
		more += p.unproven.takeTotal()
	} else {
		p.joined += p.unproven.n
		p.claims.join(&p.unproven)
	}
	if last || p.claims.n >= leastProven {
		more += p.skidded.ns
		p.skidded.ns = 0
	}
	if last {
		more += p.claims.byChance()
	}
	return p.claims.payUpTo(pool, more, emit)
}

// takeTotal takes what is claimed, and leaves the number of looks.
func (c *claims) takeTotal() int64 {
	ns := c.total
	*c = claims{n: c.n}
	return ns
}

// byChance gives by how much more than is claimed there may be because there are few samples.
func (c *claims) byChance() int64 {
	if c.n == 0 {
		return 0
	}
	return int64(samplesError * float64(c.total+c.paid) / math.Sqrt(float64(c.n))) // of a Poisson variable
}

// join takes the claims of another over.
func (c *claims) join(from *claims) {
	if c.ns == nil {
		*c, *from = *from, claims{}
		return
	}
	if from.width > c.width {
		c.widen(from.width)
	}
	for k, ns := range from.ns {
		c.ns[c.at(k.where, k.second)] += ns
	}
	for k, n := range from.met {
		c.met[c.at(k.where, k.second)] += n
	}
	c.n, c.total, c.paid = c.n+from.n, c.total+from.total, c.paid+from.paid
	*from = claims{}
	c.thin()
}

// of gives the claims as those of a program, where they are of none yet.
func (c *claims) of(program string) claims {
	out := claims{ns: map[claim]int64{}, met: map[claim]int64{}, total: c.total, paid: c.paid, n: c.n, width: c.width,
		full: c.full}
	named := func(k claim) claim {
		k.where.Program = cmp.Or(k.where.Program, program)
		return k
	}
	for k, ns := range c.ns {
		out.ns[named(k)] += ns
	}
	for k, n := range c.met {
		out.met[named(k)] += n
	}
	return out
}

// mostSpans bounds the number of spans for a process's unseen time.
const mostSpans = 1024

// ofEnded books processor time of threads that have ended, of none in particular. Several can have used more than the
// time that there was: it becomes as many spans as are needed so that none began before sampling did.
func (p *Process) ofEnded(s Span, ns int64, emit func(Span)) {
	for window := max(s.End-p.Since, ns/mostSpans+1); ns > 0; ns -= window {
		s.CPU = min(ns, window)
		s.Wall = s.CPU
		emit(s)
	}
}
