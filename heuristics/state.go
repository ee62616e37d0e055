// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"math/bits"

	"prywalk/internal/code/x86"
)

type valueKind uint8

const (
	unknown       valueKind = iota
	startRelative           // start value of base, plus off
	loaded                  // word at (start value of base, plus off), plus addend
	constant                // off
)

// Bases from here on are no registers: a stack pointer aligned or moved by a variable amount.
const firstUnnamedBase = 32

// value is relative to the values at the path's start.
type value struct {
	kind   valueKind
	base   uint8
	off    int32
	addend int32
}

func startValue(reg uint8) value { return value{kind: startRelative, base: reg} }

func (v value) isStartValue(reg uint8) bool { return v == startValue(reg) }

func (v value) isRelativeTo(base uint8) bool { return v.kind == startRelative && v.base == base }

// plus returns v + n; unknown beyond ±2³⁰.
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

type slot struct {
	base uint8
	off  int32
	val  value
}

// maxSlots is enough for twelve saved registers, each twice where a frame is set up twice.
const maxSlots = 24

type symbolicState struct {
	regs         [32]value
	slots        [maxSlots]slot
	nslots       uint8
	unnamedBases uint8 // from firstUnnamedBase on

	pc       uint64 // next instruction
	function span

	cmpReg          uint8 // compared with the stack pointer by the last instruction
	afterCall       bool
	padded          bool  // only padding followed the call
	doubtful        bool  // perhaps past a call that does not return
	pushedMem       bool  // behind the push of a PLT's first entry
	releasedStack   bool  // by the last instruction
	readCalleeSaved bool  // a start value was read
	madeCalls       bool  // words below the stack pointer are unknown
	startWordPopped bool  // the word at the start's stack pointer (markStartWordPopped)
	hasCallOrLoop   bool  // a call or a backward jump is on the path (returnSearch)
	foreignSPBase   uint8 // base of a stack pointer that was loaded or set (isForeignSP)
	tableReg        uint8 // register last loaded from a table (V8's byte code handlers)
	savedSPBase     uint8 // base of a stack pointer loaded from savedSPPlace; 0 means none
	savedSPPlace    value
	sp, fp          uint8
	align           uint8 // alignEven and alignOdd of the calls so far
}

type span struct{ lo, hi uint64 }

var everywhere = span{0, ^uint64(0)}

func (s span) has(pc uint64) bool { return pc >= s.lo && pc < s.hi }

const noReg = x86.NoReg

// rsp is a multiple of 16 at each call (System V ABI §3.2.2).
const (
	alignEven = 1 << iota // at the start's stack pointer + a multiple of 16
	alignOdd              // 8 bytes off that
)

func (st *symbolicState) reset(abi *abi, pc uint64, fn span) {
	*st = symbolicState{pc: pc, function: fn, cmpReg: noReg, tableReg: noReg, sp: abi.sp, fp: abi.fp}
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

// put is set for instructions that may name the stack pointer: an unknown one becomes a new base.
func (st *symbolicState) put(reg uint8, v value) {
	if reg == st.sp && (v.kind == unknown || v.kind == constant) {
		v = st.newUnnamedBase()
	}
	st.set(reg, v)
}

func (st *symbolicState) clobber(mask uint32) {
	for ; mask != 0; mask &= mask - 1 {
		st.regs[bits.TrailingZeros32(mask)&31] = value{}
	}
}

// store ignores other bases than stack pointer, frame pointer and unnamed ones.
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
	return addr.base == st.sp && addr.off < 0 && sp.isRelativeTo(st.sp) && addr.off >= sp.off
}

// stillValid reports whether no call can have overwritten a slot: it was not popped.
func (st *symbolicState) stillValid(s *slot) bool {
	sp := st.regs[st.sp]
	return !st.madeCalls || !sp.isRelativeTo(s.base) || s.off >= sp.off
}

// lowestSave returns an offset from the stack pointer at the start.
func (st *symbolicState) lowestSave(abi *abi) int32 {
	lowest := int32(0)
	for _, s := range st.slots[:st.nslots] {
		if s.base == abi.sp && s.off < lowest && abi.isCalleeSaved(s.val.base) && s.val.isStartValue(s.val.base) {
			lowest = s.off
		}
	}
	return lowest
}

// restore loads the word at addr into reg. A word relative to the frame pointer's start value counts as the slot with
// the register's start value, if there is one, unless the register is unchanged: then the word is an argument on the
// stack.
func (st *symbolicState) restore(reg uint8, addr value) {
	v := st.load(addr)
	if v.kind == loaded && v.base == st.fp && !st.regs[reg].isStartValue(reg) {
		for i := range st.nslots {
			if s := &st.slots[i]; s.base == st.sp && s.off < 0 && s.val.isStartValue(reg) {
				v = s.val
			}
		}
	}
	st.set(reg, v)
}

// markDoubtful marks a path doubtful at padding to an aligned address, or a landing place: they follow a call that does
// not return. Precondition: afterCall; f is the instruction at pc.
func (st *symbolicState) markDoubtful(f *flow) {
	if f.padding {
		st.padded = true
		return
	}
	if st.padded && st.pc%16 == 0 || f.landing {
		st.doubtful = true
	}
	st.afterCall, st.padded = false, false
}

func (st *symbolicState) enter(pc uint64) {
	st.pc, st.cmpReg = pc, noReg
	st.afterCall, st.padded, st.pushedMem = false, false, false
}

func (st *symbolicState) recordCall() {
	st.madeCalls, st.afterCall = true, true
	sp := st.regs[st.sp]
	if !sp.isRelativeTo(st.sp) {
		return
	}
	if sp.off&8 == 0 {
		st.align |= alignEven
	} else {
		st.align |= alignOdd
	}
}

// callsAlignedTo reports whether all calls were aligned, if the CFA is the start's stack pointer + off.
func (st *symbolicState) callsAlignedTo(off int32) bool {
	if off&8 == 0 {
		return st.align&alignOdd == 0
	}
	return st.align&alignEven == 0
}

// push stores v below the stack pointer, whose register is sp.
func (st *symbolicState) push(sp uint8, v value) {
	st.regs[sp] = st.regs[sp].plus(-8)
	st.storeAt(st.regs[sp], v)
}

// isForeignSP reports whether the stack pointer is not derived from that at the start.
func (st *symbolicState) isForeignSP() bool {
	sp := st.regs[st.sp]
	switch {
	case sp.base == st.sp || sp.base == st.fp:
		return false
	case sp.kind == startRelative:
		return sp.base < firstUnnamedBase || sp.base == st.foreignSPBase
	}
	return sp.kind == loaded
}

// spFollowsStart reports whether the stack pointer is that at the start plus a constant.
func (st *symbolicState) spFollowsStart() bool { return st.regs[st.sp].isRelativeTo(st.sp) }

// detectForeignSP follows an instruction that loaded reg.
func (st *symbolicState) detectForeignSP(reg uint8) {
	if sp := st.regs[st.sp]; reg == st.sp && sp.kind == startRelative && sp.base >= firstUnnamedBase {
		st.foreignSPBase = sp.base
	}
}

// spKey is a hash of the stack pointer's value; even, unlike mixedSP.
func (st *symbolicState) spKey() uint32 {
	v := st.regs[st.sp]
	return (uint32(v.off)*0x9e3779b1 + uint32(v.base)<<8 + uint32(v.kind)) &^ 1
}

func (st *symbolicState) markStartWordPopped() {
	if sp := st.regs[st.sp]; sp.isRelativeTo(st.sp) && sp.off > 0 {
		st.startWordPopped = true
	}
}

// fromSaved expresses v by savedSPPlace if it is relative to savedSPBase.
func (st *symbolicState) fromSaved(v value) value {
	if st.savedSPBase != 0 && v.isRelativeTo(st.savedSPBase) {
		return st.savedSPPlace.plus(int64(v.off))
	}
	return v
}
