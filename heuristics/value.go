// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"math/bits"

	"prywalk/internal/x86"
)

type valueKind uint8

const (
	unknown valueKind = iota
	initial           // register base's start value + off
	loaded            // the word at (start base + off), + add
	number            // off
)

// firstAnon is the first base that is no register: a stack pointer aligned or moved by a variable amount.
const firstAnon = 32

// value is a register's or stack slot's, in terms of the start.
type value struct {
	kind valueKind
	base uint8
	off  int32
	add  int32
}

func start(reg uint8) value { return value{kind: initial, base: reg} }

func (v value) isStart(reg uint8) bool { return v == start(reg) }

// plus gives unknown beyond 31 bits.
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

// slot is a known stack word at base + off.
type slot struct {
	base uint8
	off  int32
	val  value
}

// maxSlots: at most twelve registers are saved, twice where a frame is set up twice.
const maxSlots = 24

// state is what is known on a path at an instruction.
type state struct {
	regs   [32]value
	slots  [maxSlots]slot
	nslots uint8
	anon   uint8 // bases from firstAnon in use
	path
}

type path struct {
	pc, lo, hi uint64 // next instruction; its function's bounds

	cmpReg    uint8 // last compared with the stack pointer
	afterCall bool  // last was a call
	padded    bool  // only padding since
	weak      bool  // may have run past a call without return
	pushedMem bool  // last pushed a word of memory (PLT)
	raised    bool  // last released stack
	readKept  bool  // used a kept register's start value
	left      bool  // calls were made: below the stack pointer is theirs
	taken     bool  // popped the word at the start's stack pointer, if tracked
	foreign   uint8 // the stack pointer's base since loaded, see foreignSP
	table     uint8 // register last loaded from a table, if tracked
	savedBase uint8 // savedSP's base; 0: none
	savedSP   value // stack pointer loaded last, see returnPath
	sp, fp    uint8
	align     uint8 // what calls show of the start's stack pointer; below
}

// take copies o without unused slots, half of a state.
func (st *state) take(o *state) {
	st.regs = o.regs
	copy(st.slots[:o.nslots], o.slots[:o.nslots])
	st.path = o.path
	st.nslots, st.anon = o.nslots, o.anon
}

const noReg = x86.NoReg

// At each call, start's stack pointer − CFA is a multiple of 16 (System V ABI §3.2.2).
const (
	alignEven = 1 << iota // a call at a multiple of 16 from the start
	alignOdd              // 8 bytes off
)

func (st *state) reset(a *abi, pc, lo, hi uint64) {
	st.nslots, st.anon, st.align, st.foreign, st.savedBase = 0, 0, 0, 0, 0
	st.sp, st.fp, st.readKept, st.left, st.taken = a.sp, a.fp, false, false, false
	st.pc, st.lo, st.hi = pc, lo, hi
	st.cmpReg, st.table = noReg, noReg
	st.afterCall, st.padded, st.weak, st.pushedMem, st.raised = false, false, false, false, false
	for i := range st.regs {
		st.regs[i] = start(uint8(i))
	}
}

func (st *state) fresh() value {
	if st.anon >= 200 {
		return value{}
	}
	st.anon++
	return value{kind: initial, base: firstAnon - 1 + st.anon}
}

func (st *state) set(reg uint8, v value) {
	if reg < uint8(len(st.regs)) {
		st.regs[reg] = v
	}
}

func (st *state) clobber(mask uint32) {
	for ; mask != 0; mask &= mask - 1 {
		st.regs[bits.TrailingZeros32(mask)&31] = value{}
	}
}

// store only takes out values that nothing depends on.
func (st *state) store(addr, v value) {
	if addr.kind != initial || addr.base != st.sp && addr.base != st.fp && addr.base < firstAnon {
		return
	}
	st.storeAt(addr, v)
}

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

// fresher: the word was allocated on the path, its start value is gone.
func (st *state) fresher(addr value) bool {
	sp := st.regs[st.sp]
	return addr.base == st.sp && addr.off < 0 && sp.kind == initial && sp.base == st.sp && addr.off >= sp.off
}

// live: not popped since, after which a call could write there.
func (st *state) live(s *slot) bool {
	sp := st.regs[st.sp]
	return !st.left || sp.kind != initial || sp.base != s.base || s.off >= sp.off
}

// lowestSave gives the lowest saved register below the start's stack pointer.
func (st *state) lowestSave(a *abi) int32 {
	lowest := int32(0)
	for _, s := range st.slots[:st.nslots] {
		if s.base == a.sp && s.off < lowest && s.val.kind == initial && a.keeps(s.val.base) && s.val.off == 0 {
			lowest = s.off
		}
	}
	return lowest
}

// restore loads a register. A register's start value that the path pushed, loaded by the frame pointer, is taken for
// the same place.
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

// aligned: all calls so far fit a CFA at start's stack pointer + off.
func (st *state) aligned(off int32) bool {
	if off&8 == 0 {
		return st.align&alignOdd == 0
	}
	return st.align&alignEven == 0
}
