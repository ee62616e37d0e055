// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"cmp"
	"math"
	"slices"

	"prywalk/internal/sample"
)

// # Short-lived threads
//
// A sample at a random moment stands for the time between two ticks, T. The first on-CPU sample of a new thread has
// only x, the CPU time used so far; x alone would favour what threads do late. The missing T − x is time of ended
// threads: after their last sample, or of threads that no tick found. In expectation it is that much in each place, if
// ticks are independent of thread creation (docs/design.md).
//
//	created      sample                sample       end
//	   ├─── x ─────┤├───────── T ─────────┤├─ unobserved ─┤
//	claim: T − x        claim: T − CPU time since the one before
//
// So each sample claims T − x of the unobserved time of its process. If x exceeds T (after a wait), the rest is
// withheld until the thread has ended (then it is unobserved time) or has lived long (then it is the sample's). Claims
// are paid in proportion if there is less. Only threads created and ended while their process was sampled make claims.
//
// A sample of a thread with many system calls shows its place only if taken on its own processor (package skid). The
// claims of the others are divided among those.

type claims struct {
	ns      map[claim]int64
	samples map[claim]int64
	total   int64
	paid    int64
	n       int64

	width   int64 // in seconds, a power of two; 0: one
	mergeAt int   // 0: mostClaims
}

// claim is a stack in some seconds of the recording.
type claim struct {
	where  Seen
	second int64 // last
}

// Pairs of neighbours in time are merged where entries are many.

const (
	mostClaims = 1 << 12
	// widest is three days, s.
	widest = 1 << 18
)

func (c *claims) at(where Seen, second int64) claim {
	w := max(c.width, 1)
	return claim{where, second - second%w + w - 1}
}

func (c *claims) note(where Seen, at, ns int64) {
	if c.ns == nil {
		c.ns, c.samples = map[claim]int64{}, map[claim]int64{}
	}
	k := c.at(where, at/1e9)
	if ns > 0 {
		c.ns[k] += ns
		c.total += ns
	}
	c.samples[k]++
	c.n++
	c.mergeMany()
}

func (c *claims) mergeMany() {
	c.mergeAt = max(c.mergeAt, mostClaims)
	if len(c.samples) < c.mergeAt {
		return
	}
	stacks := map[Seen]struct{}{}
	for k := range c.samples {
		stacks[k.where] = struct{}{}
	}
	if len(stacks) > c.mergeAt/2 { // many stacks, not many seconds
		c.mergeAt *= 2
		return
	}
	for len(c.samples) > c.mergeAt/2 && c.width < widest {
		c.widen(2 * max(c.width, 1))
	}
}

func (c *claims) widen(width int64) {
	c.width = width
	ns, found := make(map[claim]int64, len(c.ns)/2), make(map[claim]int64, len(c.samples)/2)
	for k, v := range c.ns {
		ns[c.at(k.where, k.second)] += v
	}
	for k, v := range c.samples {
		found[c.at(k.where, k.second)] += v
	}
	c.ns, c.samples = ns, found
}

func (c *claims) add(where Seen, at, ns int64) {
	if ns > 0 {
		c.note(where, at, ns)
	}
}

// spread adds claims in equal parts per sample.
func (c *claims) spread(more int64) {
	if c.n == 0 || more <= 0 {
		return
	}
	for k, n := range c.samples {
		share := portion(more, n, c.n)
		c.ns[k] += share
		c.total += share
	}
}

// pay divides the pool, at most the claimed time, and gives the rest.
func (c *claims) pay(pool int64, emit func(claim, int64)) (left int64) {
	return c.payUpTo(pool, 0, emit)
}

// payUpTo is pay with more ns of claims.
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

// number of samples, without queued ones, from which a thread's own clock suffices
const longLife = 16

func (t *Thread) addSample(l *Sample, emit func(Span)) {
	if !l.OnCPU && l.Seen.State == sample.Running {
		t.waited++
	}
	young := t.CreatedAt != 0 && len(t.claims) < longLife && l.Apart > 0
	if young && l.Basis == sample.Skids && l.Seen.State == sample.Running {
		if t.skidded.n == 0 && len(t.claims) == 0 {
			t.skidded.first = l.Apart - l.At.CPU
		}
		t.skidded.n++
		t.skidded.ns += l.Apart // its CPU time goes to the next usable sample
	}
	switch {
	case !young && l.sampled():
		t.clock.Sample(l.At, l.Seen, l.Apart, emit)
		return
	case !young || !l.OnCPU:
		t.clock.Observe(l.At, l.Seen, l.OnCPU, emit)
		return
	}
	got, rest := t.clock.sampleUpTo(l.Apart, l.At, l.Seen, true, emit)
	c := claimed{where: l.Seen, at: l.At.Wall, ns: l.Apart - got, withheld: rest, unproven: l.Basis == sample.Undecided}
	c.where.State, c.where.Wait, c.where.WaitsFor, c.where.Owner = sample.Running, "", "", 0
	if t.claims = append(t.claims, c); len(t.claims) == longLife {
		t.release(emit)
	}
}

func (t *Thread) release(emit func(Span)) {
	for i := range t.claims {
		if c := &t.claims[i]; c.withheld > 0 {
			emit(Span{Seen: c.where, End: c.at, Wall: c.withheld, CPU: c.withheld})
			c.withheld = 0
		}
	}
}

// skidded holds claims without a usable place.
type skidded struct {
	n     int64
	ns    int64
	first int64 // ns
}

// of one sample
type claimed struct {
	where    Seen
	at, ns   int64
	withheld int64 // CPU time beyond Apart, ns
	unproven bool
}

// After a long life only the first sample keeps its claim. With kernel samples a life of few samples is short.
func (p *Process) addClaims(t *Thread) {
	if t.CreatedAt == 0 {
		return
	}
	short := t.Samples-t.waited < longLife || p.Sampled && len(t.claims) < longLife
	for i, c := range t.claims {
		switch {
		case !short && (i > 0 || t.skidded.first != 0):
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
		p.returned += t.clock.takeCarried()
		for i := range t.claims {
			p.returned += t.claims[i].withheld
		}
		t.claims = nil
	}
}

func (c *Clock) takeCarried() int64 {
	ns := c.carryCPU
	c.carryCPU = 0
	return ns
}

// Exited attributes the rest of the CPU time of a process: to claims, then to [ExitedUnseen].
func (p *Process) Exited(unseen, now int64, emit func(Span)) {
	rest := p.payClaims(unseen+p.returned, true, p.estimatePayer(now, emit))
	p.emitEnded(Span{Seen: Seen{State: sample.Running}, Leaf: ExitedUnseen, End: now}, rest, emit)
}

// ExitedSoFar attributes claimed time while more can follow. ended is as for [Process.Unseen]. Precondition: EndThread
// was called for all ended threads.
func (p *Process) ExitedSoFar(ended, now int64, emit func(Span)) {
	pool := p.Unseen(ended) + p.returned
	booked := pool - p.payClaims(pool, false, p.estimatePayer(now, emit))
	back := min(booked, p.returned)
	p.returned -= back
	p.paid += booked - back
	p.used += booked - back
}

func (p *Process) estimatePayer(now int64, emit func(Span)) func(claim, int64) {
	return func(k claim, ns int64) {
		p.emitEnded(Span{Seen: k.where, End: min((k.second+1)*1e9, now)}, ns, emit)
	}
}

const (
	// Many system calls: at least one sample in manySkid skids.
	manySkid = 5
	// known not to skid
	leastProven = 16
)

func (p *Process) manySkid() bool {
	return p.skidded.n > 0 && p.skidded.n*manySkid >= p.unproven.n+p.joined+p.skidded.n &&
		p.claims.n-p.joined >= leastProven
}

// Decide attributes the deferred samples of an ended thread; where many samples skid, as unobserved time.
func (p *Process) Decide(t *Thread, gaps Gaps, emit func(Span)) {
	t.attributeDeferred(t.CreatedAt != 0 && t.Samples < longLife && p.manySkid(), gaps, emit)
}

// Claims without a usable place are paid to the others, at least leastProven before the last call.
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

func (c *claims) takeTotal() int64 {
	ns := c.total
	*c = claims{n: c.n}
	return ns
}

// error of sampling, ns
func (c *claims) byChance() int64 {
	if c.n == 0 {
		return 0
	}
	return int64(samplesError * float64(c.total+c.paid) / math.Sqrt(float64(c.n)))
}

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
	for k, n := range from.samples {
		c.samples[c.at(k.where, k.second)] += n
	}
	c.n, c.total, c.paid = c.n+from.n, c.total+from.total, c.paid+from.paid
	*from = claims{}
	c.mergeMany()
}

// program is set where none is.
func (c *claims) of(program string) claims {
	out := claims{ns: map[claim]int64{}, samples: map[claim]int64{}, total: c.total, paid: c.paid, n: c.n, width: c.width,
		mergeAt: c.mergeAt}
	named := func(k claim) claim {
		k.where.Program = cmp.Or(k.where.Program, program)
		return k
	}
	for k, ns := range c.ns {
		out.ns[named(k)] += ns
	}
	for k, n := range c.samples {
		out.samples[named(k)] += n
	}
	return out
}

const mostSpans = 1024

// No span begins before sampling did.
func (p *Process) emitEnded(s Span, ns int64, emit func(Span)) {
	for window := max(s.End-p.Since, ns/mostSpans+1); ns > 0; ns -= window {
		s.CPU = min(ns, window)
		s.Wall = s.CPU
		emit(s)
	}
}
