package sampler

import (
	"cmp"
	"math/bits"
	"slices"

	"prywalk/internal/profile"
)

// # Threads that live shortly
//
// A look at a random moment stands for the whole time between two ticks, T, whatever the age of the thread that it
// meets. The interval that ends with a newborn thread's first look on a processor has less: only the time x that the
// thread has used so far. To book x alone favours what threads do late. What is missing, T − x, is time of threads
// that have ended: what they did after their last look, and what those did that no tick met. In expectation it is
// exactly that much, and at each place of the program as much as was spent there, if ticks know nothing of births
// (docs/short-lives.md). So each such first look has a claim of T − x on the unseen time of its process, and the claims
// are paid out of it when the process's account is closed: in proportion, if there is less; what is left stays unseen.
//
// Only threads that were born and have ended while their process was sampled make claims: what others did after their
// last look, or before their first, is not in the pool.

// claims are what the first looks at threads that have ended have a claim to, of one process.
type claims struct {
	ns    map[claim]int64
	total int64
}

// claim is a stack, on a processor, in a second of the recording.
type claim struct {
	where  seen
	second int64 // CLOCK_MONOTONIC
}

// add adds a claim of a look at a moment.
func (c *claims) add(where seen, at, ns int64) {
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
		return cmp.Or(cmp.Compare(a.second, b.second), cmp.Compare(a.where.stack, b.where.stack),
			cmp.Compare(c.ns[a], c.ns[b]))
	})
	var claimed, paid int64
	for _, k := range order {
		claimed += c.ns[k]
		if share := scaled(claimed, pool, c.total) - paid; share > 0 {
			paid += share
			emit(k, share)
		}
	}
	return left
}

// scaled gives a·b/c without overflow. Precondition: 0 ≤ a ≤ c, 0 ≤ b, 0 < c.
func scaled(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(q)
}

// longLife is from how many looks on a thread's own clock says where its time went: what it used since it was last met
// on a processor goes there, instead of to the pool.
const longLife = 16

// mostWeight is for how many periods a look stands at most: after a pause, what was not observed is not the next look's.
const mostWeight = 4

// firstMet notes the claim of the look at which a thread was first met on a processor: apart is the time since the tick
// before, ns.
func (th *thread) firstMet(b *booking) {
	if !th.born || th.met1 || !b.onCPU {
		return
	}
	th.met1 = true
	th.claim = claimed{b.where, b.at.Wall, b.apart - b.at.CPU}
	th.claim.where.state, th.claim.where.wait = Running, ""
}

// claimed is the claim of one thread, until it ends.
type claimed struct {
	where  seen
	at, ns int64
}

// ended takes note of the claim of a thread that has ended, and takes back what its clock would book where the thread
// was last seen, or as not observed: it is as unseen as what came after the last look.
func (p *process) ended(th *thread) {
	if !th.born {
		return
	}
	p.claims.add(th.claim.where, th.claim.at, th.claim.ns)
	if th.looks < longLife {
		p.givenBack += th.clock.giveBack()
	}
}

// giveBack gives the processor time that was carried over, and forgets it.
func (c *threadClock) giveBack() int64 {
	ns := c.carryCPU
	c.carryCPU = 0
	return ns
}

// bookUnseen books the processor time of a process that belongs to no look: as far as it is claimed under the stacks of
// the looks that have a claim, the rest under [exited unseen]. It is of no thread in particular.
func (a *accountant) bookUnseen(p *process, rest, now int64) {
	rest = p.claims.pay(rest, func(k claim, ns int64) {
		a.totals.estimated += ns
		a.ofEnded(p, k.where.stack, min((k.second+1)*1e9, now), ns)
	})
	a.totals.exitedUnseen += rest
	a.ofEnded(p, a.builder.Intern([]profile.Loc{{Synthetic: ExitedUnseen}}), now, rest)
}

// maxUnseen bounds the number of intervals for a process's unseen time.
const maxUnseen = 1024

// ofEnded books processor time of threads that have ended, of none in particular. Several can have used more than the
// time that there was: it becomes as many intervals as are needed so that none began before sampling did.
func (a *accountant) ofEnded(p *process, stack profile.StackID, end, ns int64) {
	a.totals.profiled += ns
	for window := max(end-p.since, ns/maxUnseen+1); ns > 0; ns -= window {
		cpu := min(ns, window)
		a.builder.Add(profile.Interval{
			Stack: stack, PID: p.target.PID, NSPID: p.nsPID, Comm: p.comm, Thread: Exited,
			State: Running.String(), End: a.unix(end), Wall: cpu, CPU: cpu,
		})
	}
}
