package look

import (
	"encoding/binary"
	"slices"

	"prywalk/frames"
	"prywalk/ptrace"
)

// A function calls from many places, and its frame is as large at each, or nearly so where the stack pointer is
// aligned. So where the size of a return address's frame is not known, those of large frames of return addresses near
// it are tried. The one is right behind which a known return address lies.
const (
	largeFrom = 16 << 10
	mostLarge = 32
	mostSizes = 4       // of one return address; one with more has no size worth trying
	nearBytes = 8 << 10 // code that is no further away may be of the same function
)

// largeSteps are the steps over large frames that were learned last.
type largeSteps struct {
	list    [mostLarge]step
	n, next int
	lo, hi  frames.Addr // all lie between these
}

// learn adds a step, if its frame is large, and reports whether it is new.
func (l *largeSteps) learn(pc, size frames.Addr) bool {
	if size < largeFrom || size >= mostCopy || slices.Contains(l.list[:l.n], step{pc, size}) {
		return false
	}
	sizes := 0
	for i := range l.list[:l.n] {
		if l.list[i].pc == pc {
			sizes++
		}
	}
	if sizes == mostSizes {
		return false
	}
	if l.n == 0 {
		l.lo, l.hi = pc, pc
	}
	l.lo, l.hi = min(l.lo, pc), max(l.hi, pc)
	l.list[l.next] = step{pc, size}
	l.next = (l.next + 1) % mostLarge
	l.n = min(l.n+1, mostLarge)
	return true
}

// near reports whether pc may be near one of them.
func (l *largeSteps) near(pc frames.Addr) bool {
	if l.n == 0 || pc+nearBytes < l.lo || pc-nearBytes > l.hi {
		return false
	}
	for i := range l.list[:l.n] {
		if pc-l.list[i].pc+nearBytes <= 2*nearBytes {
			return true
		}
	}
	return false
}

// guess gives the size of the frame of an unknown return address, behind which sp is. It is the one that leads to a
// known one, else the one that a walk had there when its copy ended. 0: there is neither.
func (p *pieces) guess(rd *ptrace.Reader, have *frames.Snapshot, pc, sp frames.Addr) (had frames.Addr) {
	l := &p.by.steps.large
	if !l.near(pc) {
		return 0
	}
	for i := range l.list[:l.n] {
		size := l.list[i].size
		if pc == l.list[i].pc && (p.root == 0 || sp+size <= p.root) {
			had = size
		}
		if pc-l.list[i].pc+nearBytes > 2*nearBytes {
			continue
		}
		v, ok := have.Word(sp + size - 8)
		if !ok && rd.Left() > readsKept {
			ok = rd.Read(sp+size-8, p.word[:]) == len(p.word)
			v = binary.LittleEndian.Uint64(p.word[:])
		}
		if ok && v != 0 && p.by.steps.find(v).pc != 0 {
			return size
		}
	}
	return had
}
