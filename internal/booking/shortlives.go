package booking

import (
	"cmp"
	"slices"
)

// # Threads that live shortly
//
// A look at a random moment stands for the whole time between two ticks, T, whatever the age of the thread that it
// meets. The interval that ends with a newborn thread's first look on a processor has less: only the time x that the
// thread has used so far. To book x alone favours what threads do late. What is missing, T − x, is time of threads
// that have ended: what they did after their last look, and what those did that no tick met. In expectation it is
// exactly that much, and at each place of the program as much as was spent there, if ticks know nothing of births
// (docs/short-lives.md). So each such first look has a claim of T − x on the unseen time of its process. The claims
// are paid out of it when the process's account is closed: in proportion, if there is less. What is left stays unseen.
//
// Only threads that were born and have ended while their process was sampled make claims. What others did after their
// last look, or before their first, is not in the pool.

// claims are what the first looks at threads that have ended have a claim to, of one process.
type claims struct {
	ns    map[claim]int64
	total int64
}

// claim is a stack, on a processor, in a second of the recording.
type claim struct {
	where  Seen
	second int64 // CLOCK_MONOTONIC
}

// add adds a claim of a look at a moment.
func (c *claims) add(where Seen, at, ns int64) {
	if ns <= 0 {
		return
	}
	if c.ns == nil {
		c.ns = map[claim]int64{}
	}
	c.ns[claim{where, at / 1e9}] += ns
	c.total += ns
}

// pay shares out what there is, at most what is claimed, and gives what is left. The shares add up to the last
// nanosecond.
func (c *claims) pay(pool int64, emit func(claim, int64)) (left int64) {
	if pool <= 0 || c.total <= 0 {
		return pool
	}
	if pool >= c.total {
		left, pool = pool-c.total, c.total
	}
	order := make([]claim, 0, len(c.ns))
	for k := range c.ns {
		order = append(order, k)
	}
	slices.SortFunc(order, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.second, b.second), cmp.Compare(a.where.Stack, b.where.Stack),
			cmp.Compare(c.ns[a], c.ns[b]))
	})
	var claimed, paid int64
	for _, k := range order {
		claimed += c.ns[k]
		if share := portion(pool, claimed, c.total) - paid; share > 0 {
			paid += share
			emit(k, share)
		}
	}
	return left
}

// longLife is from how many looks on a thread's own clock says where its time went. What it used since it was last
// met on a processor goes there, instead of to the pool.
const longLife = 16

// firstMet notes the claim of the look at which a thread was first met on a processor.
func (t *Thread) firstMet(l *Look) {
	if t.BornAt == 0 || t.met || !l.OnCPU {
		return
	}
	t.met = true
	t.claim = claimed{l.Seen, l.At.Wall, l.Apart - l.At.CPU}
	t.claim.where.State, t.claim.where.Wait = Running, ""
}

// claimed is the claim of one thread, until it ends.
type claimed struct {
	where  Seen
	at, ns int64
}

// ended takes note of the claim of a thread that has ended. It takes back what the thread's clock would book where the
// thread was last seen, or as not observed: that is as unseen as what came after the last look.
func (p *Process) ended(t *Thread) {
	if t.BornAt == 0 {
		return
	}
	p.claims.add(t.claim.where, t.claim.at, t.claim.ns)
	if t.Looks < longLife {
		p.givenBack += t.clock.giveBack()
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
	rest := p.claims.pay(unseen+p.givenBack, func(k claim, ns int64) {
		p.ofEnded(Span{Seen: k.where, End: min((k.second+1)*1e9, now)}, ns, emit)
	})
	p.ofEnded(Span{Seen: Seen{State: Running}, Leaf: ExitedUnseen, End: now}, rest, emit)
}

// Children books processor time of the process's children that nobody met.
func (p *Process) Children(ns, now int64, emit func(Span)) {
	p.ofEnded(Span{Seen: Seen{State: Running}, Leaf: ShortLivedChildren, End: now}, ns, emit)
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
