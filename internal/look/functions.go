package look

import (
	"cmp"
	"slices"

	"prywalk/frames"
	"prywalk/ptrace"
)

// A function calls from many places, and its frame is as large at each, or nearly so where the stack pointer is
// aligned. So where the size of a return address's frame is not known, those of the same function are tried: the one
// right behind which a return address lies that is known, else one of a function that is.
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
}

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

// sizesOf gives the sizes that may be those of an unknown return address's frame, in buf, and the one that a walk had
// just there when its copy ended (0: there was none).
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

// mostGuesses bounds the sizes that are tried for one frame.
const mostGuesses = 8

// guess gives the size of the frame of an unknown return address, behind which sp is. It is the one that leads to a
// known one, else one that leads to a known function, else the one that a walk had there when its copy ended. 0: there
// is none. What was copied to find out stays where it leads on.
func (p *pieces) guess(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, pc, sp frames.Addr) frames.Addr {
	fns := p.by.steps.functions()
	sizes, had := fns.sizesOf(pc, p.sizes[:])
	var likely frames.Addr
	for _, size := range sizes {
		n, rest := len(have.Others), p.rest
		v, ok := have.Word(sp + size - 8)
		if !ok && (p.root == 0 || sp+size <= p.root+copyMargin) {
			v, ok = p.copyEnd(rd, have, out, sp+size, size)
		}
		switch {
		case ok && v != 0 && p.by.steps.find(v).pc != 0:
			return size
		case ok && likely == 0 && fns.find(v) != nil:
			likely = size
		default:
			have.Others, p.rest = out[:n], rest
		}
	}
	if likely == 0 && had != 0 && (p.root == 0 || sp+had <= p.root) {
		return had
	}
	return likely
}
