// SPDX-License-Identifier: Apache-2.0

package look

import (
	"cmp"
	"slices"

	"prywalk/frames"
	"prywalk/ptrace"
)

// A function calls from many places, and its frame is as large at each, or nearly so where the stack pointer is
// aligned. So where the size of a return address's frame is not known, those of the same function are tried. The one is
// taken right behind which a known return address lies, else one that is followed by an address in a known function.
const (
	largeFrom = 16 << 10
	mostLarge = 32
	mostSizes = 4       // of one function; one with more has no size worth trying
	nearBytes = 8 << 10 // where it is not known where a function ends, code that is no further away may be of it
	mostFuncs = 1024
)

// function is the frame sizes that one function had.
type function struct {
	start, end frames.Addr // end excluded
	sizes      [mostSizes]uint32
	n          uint8
	nLinks     uint8
	missed     uint8 // how often there was none
	// links are how far above the stack pointer a word lies that has the address of the frame's outer end, at its calls.
	links [mostLinks]uint32
}

const (
	mostLinks  = 4 // of one function: some calls have pushed arguments
	mostMissed = 4 // walks without one, after which none is looked for
)

// holds reports whether a function has code that ends at pc: so return addresses have it, and others all but at its
// beginning, where it has no frame.
func (f *function) holds(pc frames.Addr) bool { return pc-1-f.start < f.end-f.start }

// learn adds a size, and reports whether it is new.
func (f *function) learn(size frames.Addr) bool {
	if f.n == mostSizes || slices.Contains(f.sizes[:f.n], uint32(size)) {
		return false
	}
	f.sizes[f.n] = uint32(size)
	f.n++
	return true
}

// learnLink learns where a frame that does not always have the same size tells where it ends, and reports whether that
// is new. A function that aligns the stack pointer keeps the one that it had: GCC's begin with lea 8(%rsp), %r10, and
// save r10.
func (f *function) learnLink(mem *frames.Snapshot, sp, end frames.Addr) bool {
	for _, link := range f.links[:f.nLinks] {
		if v, _ := mem.Word(sp + frames.Addr(link)); v == end {
			return false
		}
	}
	if f.missed == mostMissed || f.nLinks == mostLinks {
		return false
	}
	for at := end - 16; at > sp && at >= end-pieceBelow; at -= 8 {
		if v, _ := mem.Word(at); v == end {
			f.links[f.nLinks] = uint32(at - sp)
			f.nLinks++
			return true
		}
	}
	f.missed++
	return false
}

// functions are the frame sizes of functions.
type functions struct {
	list []function // by rising address
	// large are the steps over large frames that were learned last, with where these functions begin and end.
	large   [mostLarge]largeStep
	n, next int
	lo, hi  frames.Addr // all of large lie between these
}

type largeStep struct {
	step
	start, end frames.Addr
}

// clone gives functions that change no more.
func (t *functions) clone() *functions {
	c := *t
	c.list = slices.Clone(t.list)
	return &c
}

// learn adds a step of a function that begins and ends there, and reports whether it is new. end 0: that is not known.
// When there are too many functions it begins anew.
func (t *functions) learn(pc, size, start, end frames.Addr) bool {
	changed := t.learnLarge(pc, size, start, end)
	if end == 0 || size == 0 || size >= mostCopy {
		return changed
	}
	i, ok := t.search(start)
	if !ok {
		if len(t.list) == mostFuncs {
			t.list, i = t.list[:0], 0
		}
		t.list = slices.Insert(t.list, i, function{start: start, end: end})
	}
	return t.list[i].learn(size) || changed
}

func (t *functions) search(start frames.Addr) (i int, ok bool) {
	return slices.BinarySearchFunc(t.list, start, func(f function, at frames.Addr) int { return cmp.Compare(f.start, at) })
}

// learnLarge adds a step if its frame is large, and reports whether it is new.
func (t *functions) learnLarge(pc, size, start, end frames.Addr) bool {
	if size < largeFrom || size >= mostCopy {
		return false
	}
	if end == 0 {
		start, end = pc-nearBytes, pc+nearBytes
	}
	sizes := 0
	for i := range t.large[:t.n] {
		if l := &t.large[i]; l.pc == pc {
			if sizes++; l.size == size {
				return false
			}
		}
	}
	if sizes == mostSizes {
		return false
	}
	if t.n == 0 {
		t.lo, t.hi = start, end
	}
	t.lo, t.hi = min(t.lo, start), max(t.hi, end)
	t.large[t.next] = largeStep{step{pc, size}, start, end}
	t.next = (t.next + 1) % mostLarge
	t.n = min(t.n+1, mostLarge)
	return true
}

// maybeLarge reports whether pc may be of a function with large frames: most words of a stack are not.
func (t *functions) maybeLarge(pc frames.Addr) bool { return t.n > 0 && pc >= t.lo && pc <= t.hi }

// isLarge reports whether pc may be of a function with large frames.
func (t *functions) isLarge(pc frames.Addr) bool {
	if !t.maybeLarge(pc) {
		return false
	}
	for i := range t.large[:t.n] {
		if l := &t.large[i]; pc-1-l.start < l.end-l.start {
			return true
		}
	}
	return false
}

// find gives the function of a pc, nil if it is not known.
func (t *functions) find(pc frames.Addr) *function {
	lo, hi := 0, len(t.list)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t.list[mid].start < pc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || !t.list[lo-1].holds(pc) {
		return nil
	}
	return &t.list[lo-1]
}

// varies reports whether the frame of an instruction's function had several sizes.
func (t *functions) varies(pc frames.Addr) bool {
	f := t.find(pc)
	return f != nil && f.n > 1
}

// sizesOf gives the sizes that may be those of an unknown return address's frame, in buf. had is the one that a walk
// had just there when its copy ended (0: there was none).
func (t *functions) sizesOf(pc frames.Addr, buf []frames.Addr) (sizes []frames.Addr, had frames.Addr) {
	sizes = buf[:0]
	if f := t.find(pc); f != nil {
		for _, n := range f.sizes[:f.n] {
			sizes = append(sizes, frames.Addr(n))
		}
	}
	if !t.maybeLarge(pc) {
		return sizes, 0
	}
	for i := range t.large[:t.n] {
		l := &t.large[i]
		if l.pc == pc {
			had = l.size
		}
		if pc-1-l.start < l.end-l.start && len(sizes) < cap(sizes) && !slices.Contains(sizes, l.size) {
			sizes = append(sizes, l.size)
		}
	}
	return sizes, had
}

// mostGuesses bounds the sizes that are tried for one frame, maxAlternatives those of a chain that are not its first.
const (
	mostGuesses     = 8
	maxAlternatives = 6
)

// guess gives the size of the frame of an unknown return address, behind which sp is, or of one that varies. It is the
// one that leads to a known return address, else to a known function, else the one that a walk had there when its copy
// ended. 0: there is none. What is left of frames that have ended may look like that, too: so all others that lead on
// become alternatives. What was copied to find out stays where it leads on.
func (p *pieces) guess(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, pc, sp frames.Addr) frames.Addr {
	fns := p.by.steps.functions()
	if size := p.told(rd, have, out, fns, pc, sp); size != 0 {
		return size
	}
	sizes, had := fns.sizesOf(pc, p.sizes[:])
	p.likely = p.likely[:0]
	p.left -= len(sizes)
	for _, size := range sizes {
		n, rest, found := len(have.Others), p.rest, len(p.likely)
		_, ok := have.Word(sp + size - 8)
		if !ok && (p.root == 0 || sp+size <= p.root+copyMargin) {
			p.copyEnd(rd, have, out, sp+size, size)
		}
		p.leadsOn(have, fns, sp, size)
		if size >= largeFrom && len(p.likely) == found {
			p.aligned(have, fns, sp, size)
		}
		if len(p.likely) == found {
			have.Others, p.rest = out[:n], rest
		}
	}
	if len(p.likely) == 0 {
		if had != 0 && (p.root == 0 || sp+had <= p.root) {
			return had
		}
		if len(sizes) > 0 && slices.Min(sizes) >= largeFrom {
			p.beyond = max(p.beyond, sp+slices.Min(sizes)-pieceBelow)
		}
		return 0
	}
	best := 0
	for i := range p.likely {
		if p.likely[i].known {
			best = i
			break
		}
	}
	for i, l := range p.likely {
		if i != best && p.nAlts < len(p.alts) {
			p.alts[p.nAlts] = alternative{start{l.pc, sp + l.size}, p.inTop}
			p.nAlts++
		}
	}
	return p.likely[best].size
}

// told gives the size of a frame of changing size, if a word tells where it ends; 0: none does. It is at a link of the
// function, or it is the frame pointer. That one the thread has, or the frame further in has saved it.
func (p *pieces) told(
	rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, fns *functions, pc, sp frames.Addr,
) frames.Addr {
	f := fns.find(pc)
	if f == nil || f.n < 2 {
		return 0
	}
	n, rest := len(have.Others), p.rest
	for _, link := range f.links[:f.nLinks] {
		end, ok := have.Word(sp + frames.Addr(link))
		if !ok {
			p.copyEnd(rd, have, out, sp+frames.Addr(link)+savedBelow, frames.Addr(link)) // the end is not far above
			end, ok = have.Word(sp + frames.Addr(link))
		}
		if ok && p.isEnd(rd, have, out, fns, f, sp, end) {
			return end - sp
		}
		have.Others, p.rest = out[:n], rest
	}
	if f.nLinks > 0 || f.missed == 0 {
		return 0 // behind the frame pointer of a function with links lies a copy of its return address
	}
	if p.isEnd(rd, have, out, fns, f, sp, p.fp+fpBelow) {
		return p.fp + fpBelow - sp
	}
	for at := sp - 16; at >= sp-savedBelow; at -= 8 {
		if v, ok := have.Word(at); ok && p.isEnd(rd, have, out, fns, f, sp, v+fpBelow) {
			return v + fpBelow - sp
		}
	}
	return 0
}

// fpBelow is how far below a frame's outer end its frame pointer points (System V ABI for x86-64, figure 3.3).
const fpBelow = 16

// isEnd reports whether a frame of a function that begins at sp may end there. It is about as large as others then, and
// a known return address is there, or one in a known function. What is there is copied, if so.
func (p *pieces) isEnd(
	rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, fns *functions, f *function, sp, end frames.Addr,
) bool {
	if end%8 != 0 || !f.near(end-sp) {
		return false
	}
	n, rest := len(have.Others), p.rest
	v, ok := have.Word(end - 8)
	if !ok {
		v, _ = p.copyEnd(rd, have, out, end, end-sp)
	}
	if v != 0 && (p.by.steps.find(v).pc != 0 || fns.find(v) != nil) {
		return true
	}
	have.Others, p.rest = out[:n], rest
	return false
}

// near reports whether a size is one that the function's frame had, or one that alignment makes of it.
func (f *function) near(size frames.Addr) bool {
	for _, n := range f.sizes[:f.n] {
		if size-frames.Addr(n)+pieceBelow <= 2*pieceBelow {
			return true
		}
	}
	return false
}

// likely is a size that a frame may have: the return address at its end is known, or its function is.
type likely struct {
	step
	known bool
}

// alternative is where a chain goes on if a frame has another size than was taken.
type alternative struct {
	start
	inTop int // how many frames in the top the chain had passed
}

// leadsOn notes a size if the frame's outer end has a return address that is known, or in a known function.
func (p *pieces) leadsOn(have *frames.Snapshot, fns *functions, sp, size frames.Addr) {
	v, ok := have.Word(sp + size - 8)
	if !ok || v == 0 || len(p.likely) == cap(p.likely) {
		return
	}
	if known := p.by.steps.find(v).pc != 0; known || fns.find(v) != nil {
		p.likely = append(p.likely, likely{step{v, size}, known})
	}
}

// aligned notes the sizes of a large frame whose function has aligned the stack pointer otherwise than before.
func (p *pieces) aligned(have *frames.Snapshot, fns *functions, sp, size frames.Addr) {
	p.left -= (endAbove + pieceBelow) / stackAlign / 4 // each takes less than a frame
	for s := size - pieceBelow + savedBelow; s < size+endAbove; s += stackAlign {
		p.leadsOn(have, fns, sp, s)
	}
}

// stackAlign is what the stack pointer is a multiple of at each call, in bytes (System V ABI §3.2.2).
const stackAlign = 16
