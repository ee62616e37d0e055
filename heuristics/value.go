// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"math/bits"

	"prywalk/internal/x86"
)

type valueKind uint8

const (
	unknown       valueKind = iota
	startRelative           // start value of base, plus off
	loaded                  // word at (start value of base, plus off), plus addend
	constant                // off
)

// firstUnnamedBase is the first base that is no register: a stack pointer aligned or moved by a variable amount.
const firstUnnamedBase = 32

// value is the content of a register or stack slot, by the values at the start of the path.
type value struct {
	kind   valueKind
	base   uint8
	off    int32
	addend int32
}

func startValue(reg uint8) value { return value{kind: startRelative, base: reg} }

func (v value) isStartValue(reg uint8) bool { return v == startValue(reg) }

// plus returns v + n; unknown beyond 31 bits.
func (v value) plus(n int64) value {
	p := &v.off
	switch v.kind {
	case unknown:
		return v
	case loaded:
		p = &v.addend
	}
	sum := int64(*p) + n
	if sum != int64(int32(sum)) || sum > 1<<30 || sum < -1<<30 {
		return value{}
	}
	*p = int32(sum)
	return v
}

// slot is a known stack word at base + off.
type slot struct {
	base uint8
	off  int32
	val  value
}

// maxSlots suffices: at most twelve registers are saved, twice where a frame is set up twice.
const maxSlots = 24

// symbolicState is what a path knows of registers and stack words, by the values at its start.
type symbolicState struct {
	regs         [32]value
	slots        [maxSlots]slot
	nslots       uint8
	unnamedBases uint8 // bases in use from firstUnnamedBase on
	path
}

type path struct {
	pc, lo, hi uint64 // next instruction; bounds of its function

	cmpReg          uint8 // register that the last instruction compared with the stack pointer
	afterCall       bool
	padded          bool  // only padding followed the call
	weak            bool  // the path may have run past a call that does not return
	pushedMem       bool  // the last instruction pushed a word of memory (PLT)
	releasedStack   bool  // the last instruction released stack
	readCalleeSaved bool  // the start value of a callee-saved register was read
	madeCalls       bool  // words below the stack pointer are unknown
	startWordPopped bool  // the word at the start's stack pointer was popped (runAllPathsTo)
	loadedSPBase    uint8 // base of the stack pointer since it was loaded (isForeignSP)
	table           uint8 // register last loaded from a table (watchDispatch)
	loadedFromBase  uint8 // base of the stack pointer that was loaded from spLoadedFrom; 0: none
	spLoadedFrom    value // where the stack pointer was last loaded from (followReturnPath)
	sp, fp          uint8
	align           uint8 // alignEven and alignOdd of the calls so far
}

// copyFrom copies o without its unused slots, which are half of a state.
func (st *symbolicState) copyFrom(o *symbolicState) {
	st.regs = o.regs
	copy(st.slots[:o.nslots], o.slots[:o.nslots])
	st.path = o.path
	st.nslots, st.unnamedBases = o.nslots, o.unnamedBases
}

const noReg = x86.NoReg

// Alignment that calls show: rsp is a multiple of 16 at each (System V ABI §3.2.2).
const (
	alignEven = 1 << iota // a call was at the start's stack pointer + a multiple of 16
	alignOdd              // a call was 8 bytes off that
)

func (st *symbolicState) reset(a *abi, pc, lo, hi uint64) {
	st.nslots, st.unnamedBases, st.align, st.loadedSPBase, st.loadedFromBase = 0, 0, 0, 0, 0
	st.sp, st.fp, st.readCalleeSaved, st.madeCalls, st.startWordPopped = a.sp, a.fp, false, false, false
	st.pc, st.lo, st.hi = pc, lo, hi
	st.cmpReg, st.table = noReg, noReg
	st.afterCall, st.padded, st.weak, st.pushedMem, st.releasedStack = false, false, false, false, false
	for i := range st.regs {
		st.regs[i] = startValue(uint8(i))
	}
}

func (st *symbolicState) newUnnamedBase() value {
	if st.unnamedBases >= 200 {
		return value{}
	}
	st.unnamedBases++
	return value{kind: startRelative, base: firstUnnamedBase - 1 + st.unnamedBases}
}

func (st *symbolicState) set(reg uint8, v value) {
	if reg < uint8(len(st.regs)) {
		st.regs[reg] = v
	}
}

func (st *symbolicState) clobber(mask uint32) {
	for ; mask != 0; mask &= mask - 1 {
		st.regs[bits.TrailingZeros32(mask)&31] = value{}
	}
}

// store writes a word, unless its base is neither stack pointer, frame pointer nor anonymous, or there is no room.
func (st *symbolicState) store(addr, v value) {
	if addr.kind != startRelative || addr.base != st.sp && addr.base != st.fp && addr.base < firstUnnamedBase {
		return
	}
	st.storeAt(addr, v)
}

func (st *symbolicState) storeAt(addr, v value) {
	if addr.kind != startRelative {
		return
	}
	for i := range st.nslots {
		if s := &st.slots[i]; s.base == addr.base && s.off == addr.off {
			s.val = v
			return
		}
	}
	if v.kind != unknown && v.kind != constant && st.nslots < maxSlots {
		st.slots[st.nslots] = slot{addr.base, addr.off, v}
		st.nslots++
	}
}

func (st *symbolicState) load(addr value) value {
	if addr.kind != startRelative {
		return value{}
	}
	for i := range st.nslots {
		if s := &st.slots[i]; s.base == addr.base && s.off == addr.off {
			return s.val
		}
	}
	if addr.base >= firstUnnamedBase || st.allocatedOnPath(addr) {
		return value{}
	}
	return value{kind: loaded, base: addr.base, off: addr.off}
}

// allocatedOnPath reports whether the path allocated a word, so that its start value is gone.
func (st *symbolicState) allocatedOnPath(addr value) bool {
	sp := st.regs[st.sp]
	return addr.base == st.sp && addr.off < 0 && sp.kind == startRelative && sp.base == st.sp && addr.off >= sp.off
}

// stillValid reports whether no call can have overwritten a slot: it was not popped.
func (st *symbolicState) stillValid(s *slot) bool {
	sp := st.regs[st.sp]
	return !st.madeCalls || sp.kind != startRelative || sp.base != s.base || s.off >= sp.off
}

// lowestSave returns the offset of the lowest saved register, from the stack pointer at the start.
func (st *symbolicState) lowestSave(a *abi) int32 {
	lowest := int32(0)
	for _, s := range st.slots[:st.nslots] {
		if s.base == a.sp && s.off < lowest && s.val.kind == startRelative && a.isCalleeSaved(s.val.base) && s.val.off == 0 {
			lowest = s.off
		}
	}
	return lowest
}

// restore loads a register. An unknown word at the frame pointer counts as the slot with the register's start value, if
// there is one.
func (st *symbolicState) restore(reg uint8, addr value) {
	v := st.load(addr)
	if v.kind == loaded && v.base == st.fp {
		for i := range st.nslots {
			if s := &st.slots[i]; s.base == st.sp && s.off < 0 && s.val.isStartValue(reg) {
				v = s.val
			}
		}
	}
	st.set(reg, v)
}

func (st *symbolicState) noteCall() {
	st.madeCalls = true
	v := st.regs[st.sp]
	if v.kind != startRelative || v.base != st.sp {
		return
	}
	if v.off&8 == 0 {
		st.align |= alignEven
	} else {
		st.align |= alignOdd
	}
}

// callsAlignedTo reports whether all calls so far fit a CFA at the start's stack pointer plus off.
func (st *symbolicState) callsAlignedTo(off int32) bool {
	if off&8 == 0 {
		return st.align&alignOdd == 0
	}
	return st.align&alignEven == 0
}
