// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"prywalk/frames"
	"prywalk/internal/x86"
)

// flowKind says how control goes on after an instruction.
type flowKind uint8

const (
	flowNext     flowKind = iota
	flowCond              // to the target, or on
	flowJump              // to the target
	flowIndirect          // to an unknown place inside of the function, or a tail call
	flowTail              // to another function, on behalf of this one
	flowCall              // on, after a call
	flowReturn            // to the caller
	flowEnd               // nowhere: traps, and what cannot be decoded
)

// flow is the outcome of one instruction.
type flow struct {
	kind   flowKind
	size   uint8  // length of the instruction
	pad    bool   // a no-op, as compilers use it for alignment
	mark   bool   // a landing place of indirect calls (endbr64, bti c)
	target uint64 // relative to the next instruction
	ret    value  // of a return or tail call: the CFA
	ra     value  // what the return address register holds (arm64)
}

// abi holds what differs between architectures. Registers have the numbers that
// the hardware uses.
type abi struct {
	sp, fp uint8
	ra     uint8   // the link register, noReg if a call pushes
	kept   []uint8 // registers that a function gives back unchanged, fp first
	// scratch is the set of registers that a call may change.
	scratch uint32
	// entry is the distance from the stack pointer at a function's entry up to
	// the CFA.
	entry int64
	// exec interprets the instruction at the start of code.
	exec func(st *state, code []byte) flow
	// step is exec with the outcome in f.
	step func(st *state, code []byte, f *flow)
	// tail gives what a jump to another function proves.
	tail func(st *state) flow
	// isFrame reports whether a frame pointer is set up as the ABI says, by its value and the two words from there on.
	isFrame func(fp, at, above value) bool
	dwarf   func(reg uint8) uint8
	// prove finds the frame that the first path from pc proves; nil if there is no such short way.
	prove func(w *interpreter, pc uint64, caller bool) (found, bool)
	// argumentDrop gives the row of code that has its return address in a register only, while it takes its arguments off
	// the stack; nil if there is no such code.
	argumentDrop func(w *interpreter, pc uint64) (*frames.Row, bool)
	// loadsTable gives the register that an instruction loads from a table of addresses, and jumpsBy reports whether one
	// jumps by that: see [Source.boundless]. Both may be nil.
	loadsTable func(code []byte) uint8
	jumpsBy    func(code []byte, reg uint8) bool
	// afterPush reports whether a word of memory was pushed just before pc, as
	// in the first entry of a PLT.
	afterPush  func(w *interpreter, pc uint64) bool
	callBefore func(s *Source, ret uint64) (frames.Call, bool)
	// popped is [Source.Popped]; nil where functions do not pop.
	popped func(s *Source, pc uint64, n int) (reg uint8, ok bool)
	// isThreadRoot reports whether the code at pc is a thread's first function.
	isThreadRoot func(w *interpreter, pc uint64) bool
	// startsElsewhere reports whether the code at pc begins a stack that was prepared by hand.
	startsElsewhere func(w *interpreter, pc uint64) bool
	// departs gives the address that an instruction goes to which may leave this stack: see
	// [Source.departure].
	departs func(st *state, code []byte) (value, bool)
	// isTrap reports whether code begins with an instruction that traps.
	isTrap func(code []byte) bool
}

// framesAt reports whether a frame pointer with this value is set up as the ABI says.
func (a *abi) framesAt(st *state, fp value) bool {
	return a.isFrame(fp, st.load(fp), st.load(fp.plus(8)))
}

// keeps reports whether callees keep a register.
func (a *abi) keeps(reg uint8) bool {
	for _, r := range a.kept {
		if r == reg {
			return true
		}
	}
	return false
}

// leavesBytes bounds the functions that are read for jumps, in bytes.
const leavesBytes = 64 << 10

// LeavesByJump implements [frames.Jumps]. It reads the function's instructions from the first to the last, and is
// true where it cannot tell. It is so for a function of unknown or great length, one with an indirect jump (it may
// be a switch) or with something that is no instruction.
func (s *Source) LeavesByJump(start uint64) bool {
	lo, hi, ok := s.bounds(start)
	if s.abi == nil || s.o.Code == nil || !ok || lo != start || hi-lo > leavesBytes {
		return true
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	if s.abi.ra != noReg {
		return w.leavesA64(lo, hi)
	}
	return w.leavesX86(lo, hi)
}

// leavesX86 reports whether the code from lo to hi may jump elsewhere.
func (w *interpreter) leavesX86(lo, hi uint64) bool {
	for pc := lo; pc < hi; {
		i, ok := x86.Decode(w.code(pc))
		if !ok {
			return true
		}
		pc += uint64(i.Size)
		if to, jumps := i.Jump(pc); jumps && (to < lo || to >= hi) {
			return true
		}
	}
	return false
}
