// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"math/bits"

	"prywalk/internal/x86"
)

// valueKind says what is known of a value.
type valueKind uint8

const (
	unknown valueKind = iota
	initial           // what register base held at the start, plus off
	loaded            // the word in memory at (initial base + off), plus add
	number            // the constant off
)

// firstAnon is the first base that is no register: the stack pointer after it
// was aligned or moved by a variable amount.
const firstAnon = 32

// value is what a register or a stack slot holds, in terms of the start.
type value struct {
	kind valueKind
	base uint8
	off  int32
	add  int32
}

// start is the value that a register had at the start.
func start(reg uint8) value { return value{kind: initial, base: reg} }

// isStart reports whether v is what reg held at the start.
func (v value) isStart(reg uint8) bool { return v == start(reg) }

// plus adds a constant; what leaves 31 bits is not followed.
func (v value) plus(n int64) value {
	p := &v.off
	switch v.kind {
	case unknown:
		return v
	case loaded:
		p = &v.add
	}
	sum := int64(*p) + n
	if sum != int64(int32(sum)) || sum > 1<<30 || sum < -1<<30 {
		return value{}
	}
	*p = int32(sum)
	return v
}

// slot is a word of the stack with a known value, at address base + off.
type slot struct {
	base uint8
	off  int32
	val  value
}

// maxSlots bounds what is remembered of the stack: twelve registers are saved at
// most, the rest serves frames that are set up twice over.
const maxSlots = 24

// state is what is known on one path at one instruction.
type state struct {
	regs   [32]value
	slots  [maxSlots]slot
	nslots uint8
	anon   uint8 // bases beyond firstAnon in use
	path
}

// path is what a state says of the way to it.
type path struct {
	pc, lo, hi uint64 // the next instruction; the bounds of its function

	cmpReg    uint8 // the stack pointer was just compared with this register
	afterCall bool  // the last instruction was a call
	padded    bool  // only padding since that call
	weak      bool  // the path may have run past a call that does not return
	pushedMem bool  // the last instruction pushed a word of memory (PLT)
	raised    bool  // the last instruction gave back stack
	readKept  bool  // used what a kept register held at the start
	left      bool  // calls were made: what lies below the stack pointer is theirs
	taken     bool  // the word at the start's stack pointer was popped, if that is asked for
	foreign   uint8 // the base that the stack pointer has had since it was loaded, see foreignSP
	table     uint8 // the register that was loaded from a table last, if that is asked for
	sp, fp    uint8
	align     uint8 // of the start's stack pointer, as the calls show; below
}

// take makes st a copy of o. The slots that o does not use are left out: they are half of a state.
func (st *state) take(o *state) {
	st.regs = o.regs
	copy(st.slots[:o.nslots], o.slots[:o.nslots])
	st.path = o.path
	st.nslots, st.anon = o.nslots, o.anon
}

// noReg marks that there is no register.
const noReg = x86.NoReg

// What the calls on a path say of the stack pointer at the start: at each call
// the CFA is a multiple of 16 bytes above it (System V ABI §3.2.2).
const (
	alignEven = 1 << iota // calls were made at a multiple of 16 from the start
	alignOdd              // calls were made 8 bytes off
)

// reset makes every register hold its own initial value.
func (st *state) reset(a *abi, pc, lo, hi uint64) {
	st.nslots, st.anon, st.align, st.foreign = 0, 0, 0, 0
	st.sp, st.fp, st.readKept, st.left, st.taken = a.sp, a.fp, false, false, false
	st.pc, st.lo, st.hi = pc, lo, hi
	st.cmpReg, st.table = noReg, noReg
	st.afterCall, st.padded, st.weak, st.pushedMem, st.raised = false, false, false, false, false
	for i := range st.regs {
		st.regs[i] = start(uint8(i))
	}
}

// fresh gives a base of which nothing is known.
func (st *state) fresh() value {
	if st.anon >= 200 {
		return value{}
	}
	st.anon++
	return value{kind: initial, base: firstAnon - 1 + st.anon}
}

// set gives a register a value.
func (st *state) set(reg uint8, v value) {
	if reg < uint8(len(st.regs)) {
		st.regs[reg] = v
	}
}

// clobber forgets the registers of a set.
func (st *state) clobber(mask uint32) {
	for ; mask != 0; mask &= mask - 1 {
		st.regs[bits.TrailingZeros32(mask)&31] = value{}
	}
}

// store puts a value into the word at an address. Values that nothing depends
// on are only taken out.
func (st *state) store(addr, v value) {
	if addr.kind != initial || addr.base != st.sp && addr.base != st.fp && addr.base < firstAnon {
		return
	}
	st.storeAt(addr, v)
}

// storeAt is store for an address relative to any register.
func (st *state) storeAt(addr, v value) {
	if addr.kind != initial {
		return
	}
	for i := range st.nslots {
		if s := &st.slots[i]; s.base == addr.base && s.off == addr.off {
			s.val = v
			return
		}
	}
	if v.kind != unknown && v.kind != number && st.nslots < maxSlots {
		st.slots[st.nslots] = slot{addr.base, addr.off, v}
		st.nslots++
	}
}

// load gives the word at an address.
func (st *state) load(addr value) value {
	if addr.kind != initial {
		return value{}
	}
	for i := range st.nslots {
		if s := &st.slots[i]; s.base == addr.base && s.off == addr.off {
			return s.val
		}
	}
	if addr.base >= firstAnon || st.fresher(addr) {
		return value{}
	}
	return value{kind: loaded, base: addr.base, off: addr.off}
}

// fresher reports whether a word of the stack was allocated on the path: what it
// held at the start is not what it holds.
func (st *state) fresher(addr value) bool {
	sp := st.regs[st.sp]
	return addr.base == st.sp && addr.off < 0 && sp.kind == initial && sp.base == st.sp && addr.off >= sp.off
}

// live reports whether a slot still is the function's own: not one that was popped,
// after which a call could write there.
func (st *state) live(s *slot) bool {
	sp := st.regs[st.sp]
	return !st.left || sp.kind != initial || sp.base != s.base || s.off >= sp.off
}

// lowestSave gives the lowest place of a kept register's value below the stack pointer of
// the start.
func (st *state) lowestSave(a *abi) int32 {
	lowest := int32(0)
	for _, s := range st.slots[:st.nslots] {
		if s.base == a.sp && s.off < lowest && s.val.kind == initial && a.keeps(s.val.base) && s.val.off == 0 {
			lowest = s.off
		}
	}
	return lowest
}

// restore loads a register. Where the path itself pushed the register's initial
// value, and it is loaded by the frame pointer, the two cannot be told to be the
// same place; they are.
func (st *state) restore(reg uint8, addr value) {
	v := st.load(addr)
	if v.kind == loaded && v.base == st.fp {
		for i := range st.nslots {
			if s := &st.slots[i]; s.base == st.sp && s.off < 0 && s.val.isStart(reg) {
				v = s.val
			}
		}
	}
	st.set(reg, v)
}

// called notes a call's alignment.
func (st *state) called() {
	st.left = true
	v := st.regs[st.sp]
	if v.kind != initial || v.base != st.sp {
		return
	}
	if v.off&8 == 0 {
		st.align |= alignEven
	} else {
		st.align |= alignOdd
	}
}

// aligned reports whether a CFA at off above the start's stack pointer is what
// all calls so far could be made with.
func (st *state) aligned(off int32) bool {
	if off&8 == 0 {
		return st.align&alignOdd == 0
	}
	return st.align&alignEven == 0
}
