package look

import (
	"encoding/binary"
	"slices"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/ptrace"
)

// Bounds of what one plan reads. A read takes one to three microseconds.
const (
	planReads   = 160
	planEach    = 64  // objects that are copied by one Each
	planRegions = 160 // of these, and of pages
	planPage    = 4 << 10
	planBlock   = 16 << 10 // nodes that follow many others are read in larger pieces
	fewPages    = 2
)

// planned carries out a plan besides what another Extra copies. It belongs to the tracer's thread and is used for all
// threads, one at a time.
type planned struct {
	inner  ptrace.Extra
	plan   *managed.Plan
	anchor frames.Addr
	tid    uint64
	asleep bool // the thread is peeked at

	rd     *ptrace.Reader
	out    []frames.Region
	n      int
	last   frames.Region // of out, in which the last bytes were found
	buf    []byte
	used   int
	slots  [managed.MaxSlots]frames.Addr
	nodes  [managed.MaxNodes]frames.Addr
	count  int
	first  []frames.Addr // the nodes of the first chain
	firsts [managed.MaxNodes]frames.Addr
	next   [planEach]frames.Addr
}

// Reads implements [ptrace.ManyReads].
func (*planned) Reads() int { return planReads }

// Prefetch implements [ptrace.Prefetcher].
func (p *planned) Prefetch(regs *frames.Regs) []frames.Region {
	if f, ok := p.inner.(ptrace.Prefetcher); ok {
		return f.Prefetch(regs)
	}
	return nil
}

// StackEnd implements [ptrace.StackEnder].
func (p *planned) StackEnd(regs *frames.Regs) uint64 { return stackEnd(p.inner, regs) }

// Regions implements [ptrace.Extra].
func (p *planned) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	p.rd, p.out, p.n, p.used, p.count, p.last = rd, out, 0, 0, 0, frames.Region{}
	p.first = nil
	if p.inner != nil {
		p.n = p.inner.Regions(regs, rd, out)
	}
	p.slots = [managed.MaxSlots]frames.Addr{0: p.anchor, 1: regs.SP(), 2: regs.TLS, 3: p.tid}
	if p.anchor == 0 {
		p.carry(p.plan.Find)
	}
	if p.slots[0] != 0 {
		p.carry(p.plan.Steps)
	}
	p.rd, p.out, p.last = nil, nil, frames.Region{}
	return p.n
}

// carry carries out steps, until one ends the plan.
func (p *planned) carry(steps []managed.Step) {
	for i := range min(len(steps), managed.MaxSteps) {
		if !p.step(&steps[i]) {
			return
		}
	}
}

// step carries out one step; false if the plan ends there.
func (p *planned) step(s *managed.Step) bool {
	if s.Asleep && !p.asleep {
		return true
	}
	at := p.slots[s.Base%managed.MaxSlots] + uint64(s.Off)
	switch s.Op {
	case managed.Load:
		v := p.word(at)
		p.slots[s.To%managed.MaxSlots] = v
		return v != 0
	case managed.Copy:
		n := uint64(s.Max)
		if end := p.slots[s.End%managed.MaxSlots]; s.End != 0 {
			if end <= at {
				return true
			}
			n = min(n, end-at)
		}
		p.read(at, n)
	case managed.Chain:
		p.chain(at, s)
	case managed.Each:
		p.each(s)
	case managed.Seek:
		at = p.seek(at, s)
		p.slots[s.To%managed.MaxSlots] = at
		return at != 0
	}
	return true
}

// chain copies nodes, and notes where they are. One that joins the first chain is copied already.
func (p *planned) chain(at frames.Addr, s *managed.Step) {
	size, pages := uint64(s.Size), 0
	if slices.Contains(p.first, at) {
		return
	}
	for p.count = 0; at != 0 && p.count < min(int(s.Max), len(p.nodes)); p.count++ {
		if p.have(at, size) == nil {
			if !p.node(at, size, pages >= fewPages) {
				return
			}
			pages++
		}
		p.nodes[p.count] = at
		at = p.word(at + uint64(int64(s.Next)))
	}
	if p.first == nil {
		p.first = p.firsts[:copy(p.firsts[:], p.nodes[:p.count])]
	}
}

// seek goes along nodes up to the one that has a word; 0 if none has.
func (p *planned) seek(at frames.Addr, s *managed.Step) frames.Addr {
	want := p.slots[s.End%managed.MaxSlots]
	for range min(int(s.Max), planEach) {
		if at == 0 || want == 0 || p.have(at, uint64(s.Size)) == nil && !p.read(at, uint64(s.Size)) {
			return 0
		}
		if p.word(at+uint64(int64(s.At))) == want {
			return at
		}
		at = p.word(at + uint64(int64(s.Next)))
	}
	return 0
}

// node reads a node with the page that it lies in: others mostly lie there, too, and a page costs little more than a
// word.
func (p *planned) node(at frames.Addr, size uint64, block bool) bool {
	end := max(at|(planPage-1)+1, at+size)
	from := at &^ (planPage - 1)
	if start := p.rd.Start(at); start > from {
		from = start
	}
	if block {
		if from := max(end-min(planBlock, end), p.rd.Start(at)); p.read(from, end-from) && p.have(at, size) != nil {
			return true
		}
	}
	return p.read(from, end-from) && p.have(at, size) != nil || p.read(at, size)
}

// each copies what the nodes lead to.
func (p *planned) each(s *managed.Step) {
	n, last := 0, frames.Addr(0)
	for i := range p.count {
		to := p.word(p.nodes[i] + uint64(s.Off))
		if to &^= 7; to == 0 || to == last || p.plan.Known.Has(to) {
			continue
		}
		last = to
		if p.have(to+uint64(s.Next), uint64(s.Size)) == nil && !p.read(to+uint64(s.Next), uint64(s.Size)) {
			continue
		}
		p.next[n] = to
		if n++; n == min(len(p.next), int(s.Max)) {
			break
		}
	}
	p.count = copy(p.nodes[:], p.next[:n])
}

// have gives size bytes at addr if they were copied. Most lie where the last ones did.
func (p *planned) have(addr, size uint64) []byte {
	if off := addr - p.last.Addr; off < uint64(len(p.last.Bytes)) && size <= uint64(len(p.last.Bytes))-off {
		return p.last.Bytes[off : off+size]
	}
	for i := range p.out[:p.n] {
		if b := piece(p.out[i].Addr, p.out[i].Bytes, addr, size); b != nil {
			p.last = p.out[i]
			return b
		}
	}
	from, _ := p.rd.Stack()
	return piece(from, p.rd.StackBytes(), addr, size)
}

// piece gives a part of a copy, nil if it has not got all of it.
func piece(from frames.Addr, b []byte, addr, size uint64) []byte {
	off := addr - from
	if n := uint64(len(b)); addr < from || off > n || size > n-off {
		return nil
	}
	return b[off : off+size]
}

// word gives the word at addr, read if it was not copied; 0 if it cannot be had.
func (p *planned) word(addr frames.Addr) uint64 {
	b := p.have(addr, 8)
	if b == nil {
		if !p.read(addr, 8) {
			return 0
		}
		b = p.have(addr, 8)
	}
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// read copies n bytes, or what there is of them, into a region; false if there is nothing, or no room.
func (p *planned) read(addr frames.Addr, n uint64) bool {
	n = min(n, uint64(len(p.buf)-p.used))
	if n == 0 || p.n == len(p.out) {
		return false
	}
	b := p.buf[p.used : p.used+int(n)]
	got := p.rd.Read(addr, b)
	if got == 0 {
		return false
	}
	p.out[p.n] = frames.Region{Addr: addr, Bytes: b[:got]}
	p.n++
	p.used += got
	return true
}

// foresee asks before a stop what the first copy of the thread's plan would have to ask in it.
func (t *Thread) foresee() {
	n := t.needs.get()
	if n.Plan == nil || n.Anchor == 0 || t.Memory == nil || len(n.Plan.Steps) == 0 {
		return
	}
	if s := &n.Plan.Steps[0]; s.Op == managed.Copy && s.Base == 0 && s.End == 0 {
		t.Memory.Foresee(n.Anchor+uint64(s.Off), int(s.Max))
	}
}

// carryOut gives what copies by the thread's plan besides inner; inner if it has none.
func (l *Looker) carryOut(t *Thread, inner ptrace.Extra) ptrace.Extra {
	n := t.needs.get()
	plan, anchor := n.Plan, n.Anchor
	if plan == nil && t.Plans != nil {
		plan, anchor = t.Plans.Load(), 0
	}
	if plan == nil || anchor == 0 && len(plan.Find) == 0 {
		return inner
	}
	p := &l.planned
	if p.buf == nil {
		p.buf = make([]byte, managed.MaxBytes)
	}
	p.inner, p.plan, p.anchor, p.tid = inner, plan, anchor, uint64(t.TID)
	return p
}

// Plan makes the next looks carry out a plan from an anchor on; nil: none any more. The last look lacked what a new
// plan copies: it is not reused, and Plan reports true.
func (k *Walks) Plan(p *managed.Plan, anchor frames.Addr) (again bool) {
	if k.needs.Plan == p && k.needs.Anchor == anchor {
		return false
	}
	k.needs.Plan, k.needs.Anchor = p, anchor
	if again = p != nil; again {
		k.needs.Retries++
	}
	k.handOver()
	return again
}

// PlanAgain is Plan where the last look lacked what it copies, by a plan that it had: that one is not reused.
func (k *Walks) PlanAgain(p *managed.Plan, anchor frames.Addr) {
	k.needs.Plan, k.needs.Anchor = p, anchor
	k.needs.Retries++
	k.handOver()
}
