// SPDX-License-Identifier: Apache-2.0

package look

import (
	"encoding/binary"
	"slices"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
	"prywalk/internal/waits"
	"prywalk/ptrace"
)

// Bounds of what one plan reads. A read takes one to three microseconds.
const (
	planReads   = 160
	planEach    = 64  // objects that are copied by one Each
	planRegions = 160 // of these, and of pages
	planPage    = 4 << 10
	planBlock   = 16 << 10 // nodes are read in such pieces where many lie together
	fewPages    = 2
)

// planned carries out a plan besides what another Extra copies. It belongs to the tracer's thread and is used for all
// threads, one at a time.
type planned struct {
	inner  ptrace.Extra
	plan   *managed.Plan
	anchor frames.Addr
	sought *frames.Addr // of the thread: what its last Seek has found; nil: that is not kept
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

	lastIn int         // where in out last is; −1: it is not
	alone  *aloneNodes // of the thread; nil: none are foreseen
	found  int         // of those that this look has met
	parts  [mostAlone]frames.Region
}

// # Nodes of the last look
//
// Frames that are objects lie anywhere, each leads to the next, and most are those of the last look. So the kernel is
// asked before a stop which of their places are there. In the stop these are read in one call, before the chain is
// followed. Which nodes it has now, the chain alone says: those that are new are read as they are met.

// mostAlone is how many nodes are foreseen.
const mostAlone = procmem.MostPlaces

// aloneNodes are the nodes of a thread's last chain that lie in nothing else that is copied.
type aloneNodes struct {
	at      [mostAlone]frames.Addr
	n       int
	there   [mostAlone]bool
	pieces  [mostAlone]nodePiece // of pages that are there
	count   int                  // of pieces
	until   int64                // they are there, CLOCK_MONOTONIC ns; 0: that is not known
	refused int                  // how often in a row nothing could be read in one call
	next    [mostAlone]frames.Addr
}

// nodePiece is a part of one page that has nodes.
type nodePiece struct{ from, to frames.Addr }

// mostRefused is how often that is tried in vain.
const mostRefused = 4

// foresee asks about the nodes, and puts those together that lie on one page: the kernel takes longer for a place than
// for what lies between two.
func (a *aloneNodes) foresee(m *procmem.Memory, size uint64) {
	if a.until = 0; a.n == 0 || a.refused == mostRefused {
		return
	}
	a.until, a.count = m.ForeseePlaces(a.at[:a.n], size, a.there[:a.n]), 0
	for i, at := range a.at[:a.n] {
		if a.there[i] {
			a.put(nodePiece{at, at + size})
		}
	}
}

// put puts a node to those of its page.
func (a *aloneNodes) put(n nodePiece) {
	page := n.from &^ (planPage - 1)
	for i := range a.pieces[:a.count] {
		if p := &a.pieces[i]; p.from&^(planPage-1) == page && n.to-page <= planPage && p.to-page <= planPage {
			p.from, p.to = min(p.from, n.from), max(p.to, n.to)
			return
		}
	}
	a.pieces[a.count] = n
	a.count++
}

// readAlone reads the nodes that were foreseen, once; false if there are none.
func (p *planned) readAlone() bool {
	a, n, used := p.alone, 0, p.used
	if a == nil || a.until == 0 {
		return false
	}
	until := a.until
	a.until = 0
	for _, piece := range a.pieces[:a.count] {
		size := int(piece.to - piece.from)
		if p.n+n == len(p.out) || size > len(p.buf)-used {
			break
		}
		p.parts[n] = frames.Region{Addr: piece.from, Bytes: p.buf[used : used+size]}
		used += size
		n++
	}
	got := p.rd.ReadForeseen(p.parts[:n], until)
	switch {
	case got > 0:
		a.refused = 0
	case n > 0 && procmem.Now() < until: // else the thread was queued for a processor, and the answer too old
		a.refused++
	}
	before := p.n
	for i := 0; i < n && got >= len(p.parts[i].Bytes); i++ {
		got -= len(p.parts[i].Bytes)
		p.used += len(p.parts[i].Bytes)
		p.out[p.n] = p.parts[i]
		p.n++
	}
	return p.n > before
}

// denseNodes is how many sizes of a node two of them are apart at most that are mostly read together anyway: as on a
// stack.
const denseNodes = 3

// keepAlone takes note of a node of the first chain for the next look. before is how many regions there were before it.
func (p *planned) keepAlone(at frames.Addr, size uint64, before int) {
	a := p.alone
	if a == nil || p.first != nil || p.lastIn < before || p.found == mostAlone {
		return
	}
	if near := denseNodes * size; p.found > 0 && at-a.next[p.found-1]+near <= 2*near {
		return
	}
	a.next[p.found] = at
	p.found++
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
func (p *planned) StackEnd(regs *frames.Regs, rd *ptrace.Reader) uint64 {
	return stackEnd(p.inner, regs, rd)
}

// Regions implements [ptrace.Extra].
func (p *planned) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	p.rd, p.out, p.n, p.used, p.count, p.last, p.lastIn = rd, out, 0, 0, 0, frames.Region{}, -1
	p.first, p.found = nil, 0
	if p.inner != nil {
		p.n = p.inner.Regions(regs, rd, out)
	}
	p.slots = [managed.MaxSlots]frames.Addr{0: p.anchor, 1: regs.SP(), 2: regs.TLS, 3: p.tid}
	if p.anchor == 0 && !p.soughtBefore() {
		p.carry(p.plan.Find)
		if p.sought != nil {
			*p.sought = p.slots[0]
		}
	}
	if p.slots[0] != 0 {
		p.carry(p.plan.Steps)
	}
	if p.alone != nil {
		p.alone.n, p.alone.until = copy(p.alone.at[:], p.alone.next[:p.found]), 0
	}
	p.rd, p.out, p.last, p.alone, p.sought = nil, nil, frames.Region{}, nil, nil
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
	size := uint64(s.Size)
	if slices.Contains(p.first, at) {
		return
	}
	before, d := p.n, density{piece: -1}
	for p.count = 0; at != 0 && p.count < min(int(s.Max), len(p.nodes)); p.count++ {
		switch {
		case p.have(at, size) != nil || p.readAlone() && p.have(at, size) != nil:
			d.met(p.lastIn)
		case !p.node(at, size, d.next(at)):
			return
		default:
			d.read(p.n - 1)
		}
		d.last = at
		p.keepAlone(at, size, before)
		p.nodes[p.count] = at
		at = p.word(at + uint64(int64(s.Next)))
	}
	if p.first == nil {
		p.first = p.firsts[:copy(p.firsts[:], p.nodes[:p.count])]
	}
}

// soughtBefore reports whether what the last look at the thread has found is still what is sought: then it need not be
// sought among all others again. It is asked for at each look until the walks have told where it is.
func (p *planned) soughtBefore() bool {
	if p.sought == nil || *p.sought == 0 {
		return false
	}
	at := *p.sought
	for i := range p.plan.Find {
		s := &p.plan.Find[i]
		want := p.slots[s.End%managed.MaxSlots]
		if s.Op != managed.Seek || s.To != 0 || want == 0 {
			continue
		}
		if (p.have(at, uint64(s.Size)) != nil || p.read(at, uint64(s.Size))) && p.word(at+uint64(int64(s.At))) == want {
			p.slots[0] = at
			return true
		}
	}
	return false
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

// density says how near to each other the nodes of a chain lie. A page costs little more than a word, a block little
// more than a page. But what has no further nodes takes the room of what has.
type density struct {
	pieces int         // that were read for nodes
	piece  int         // the last one of these
	nodes  int         // how many further nodes lay in it
	last   frames.Addr // the last node
}

// densePiece is how many further nodes must have lain in a piece for a larger one to be read next.
const densePiece = 6

// met takes note of a node that lay in a piece.
func (d *density) met(piece int) {
	if piece == d.piece {
		d.nodes++
	}
}

// read takes note of a piece that was read for a node.
func (d *density) read(piece int) { d.pieces, d.piece, d.nodes = d.pieces+1, piece, 0 }

// next says how much is to be read with a node that was not copied yet.
func (d *density) next(at frames.Addr) uint64 {
	switch {
	case d.nodes >= densePiece:
		return planBlock
	case d.pieces < fewPages, d.nodes > 0, at-d.last+planPage <= 2*planPage:
		return planPage
	}
	return 0
}

// node reads a node with what lies before it, up to so many bytes in all: to the end of its page, since others mostly
// lie there, too.
func (p *planned) node(at frames.Addr, size, with uint64) bool {
	end := max(at|(planPage-1)+1, at+size)
	if with > planPage {
		if from := max(end-min(with, end), p.rd.Start(at)); p.read(from, end-from) && p.have(at, size) != nil {
			return true
		}
	}
	if with > 0 {
		from := max(at&^(planPage-1), p.rd.Start(at))
		if p.read(from, end-from) && p.have(at, size) != nil {
			return true
		}
	}
	return p.read(at, size) && p.have(at, size) != nil
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
			p.last, p.lastIn = p.out[i], i
			return b
		}
	}
	p.last, p.lastIn = frames.Region{}, -1
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

// InLock reports whether a sleeper waits for the lock of its run-time system, which threads that compute pass on to
// each other: another one runs in its place.
func (t *Thread) InLock(call *procmem.SyscallInfo) bool {
	plan := t.needs.get().Plan
	if plan == nil || plan.Lock[1] == 0 || call.Nr != futexCall(hostArch()) {
		return false
	}
	word, ok := waits.Sleeps(&call.Args)
	return ok && word >= plan.Lock[0] && word < plan.Lock[1]
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
	t.foreseeAlone()
}

// foreseeAlone asks about the nodes of the thread's last look.
func (t *Thread) foreseeAlone() {
	n := t.needs.get()
	if n.Plan == nil || t.Memory == nil {
		return
	}
	i := slices.IndexFunc(n.Plan.Steps, func(s managed.Step) bool { return s.Op == managed.Chain })
	if i < 0 {
		return
	}
	if t.nodes == nil {
		t.nodes = &aloneNodes{}
	}
	t.nodes.foresee(t.Memory, uint64(n.Plan.Steps[i].Size))
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
	p.inner, p.plan, p.anchor, p.tid, p.alone = inner, plan, anchor, uint64(t.TID), t.nodes
	p.sought = &t.sought
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
