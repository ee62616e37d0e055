// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"prywalk/frames"
	"prywalk/internal/x86"
)

// flowKind is what an instruction does to control.
type flowKind uint8

const (
	flowNext     flowKind = iota
	flowCond              // to the target, or to the next instruction
	flowJump              // to the target
	flowIndirect          // to an unknown place in the function, or a tail call
	flowTail              // to another function, as a tail call
	flowCall              // to the next instruction, after a call
	flowReturn            // to the caller
	flowEnd               // nowhere: a trap, or not decodable
)

// flow is the effect of an instruction on control.
type flow struct {
	kind   flowKind
	size   uint8  // length of the instruction
	pad    bool   // padding no-op
	mark   bool   // landing place (endbr64, bti c)
	target uint64 // relative to the next instruction
	ret    value  // CFA, at a return or tail call
	ra     value  // value of the return address register (arm64)
}

// abi describes an architecture. Registers have hardware numbers.
type abi struct {
	sp, fp uint8
	ra     uint8   // the link register, noReg if a call pushes
	kept   []uint8 // callee-saved registers, fp first
	// scratch are the registers that a call may change.
	scratch uint32
	// entry is CFA − stack pointer at a function's entry.
	entry int64
	// exec interprets the first instruction of code.
	exec func(st *state, code []byte) flow
	// step is exec, with the result in f.
	step func(st *state, code []byte, f *flow)
	// tail gives what a tail call proves.
	tail func(st *state) flow
	// isFrame reports whether a frame pointer with this value, and these two words at it, is that of the ABI.
	isFrame func(fp, at, above value) bool
	dwarf   func(reg uint8) uint8
	// prove finds the frame that the first path from pc proves. It is nil if the architecture has no such shortcut.
	prove func(w *interpreter, pc uint64, caller bool) (found, bool)
	// argumentDrop gives the row of code whose return address is in a register while it drops arguments. It may be nil.
	argumentDrop func(w *interpreter, pc uint64) (*frames.Row, bool)
	// loadsTable and jumpsBy serve [Source.boundless]. They may be nil.
	loadsTable func(code []byte) uint8
	jumpsBy    func(code []byte, reg uint8) bool
	// afterPush reports whether a word of memory was pushed just before pc, as in the first entry of a PLT.
	afterPush  func(w *interpreter, pc uint64) bool
	callBefore func(s *Source, ret uint64) (frames.Call, bool)
	// popped serves [Source.Popped]. It may be nil.
	popped       func(s *Source, pc uint64, n int) (reg uint8, ok bool)
	isThreadRoot func(w *interpreter, pc uint64) bool
	// startsElsewhere reports whether pc begins a stack that was prepared by hand.
	startsElsewhere func(w *interpreter, pc uint64) bool
	// departs gives the target of an instruction that may continue on another stack ([Source.departure]).
	departs func(st *state, code []byte) (value, bool)
	// isTrap reports whether code begins with a trap.
	isTrap func(code []byte) bool
}

func (a *abi) framesAt(st *state, fp value) bool {
	return a.isFrame(fp, st.load(fp), st.load(fp.plus(8)))
}

func (a *abi) keeps(reg uint8) bool {
	for _, r := range a.kept {
		if r == reg {
			return true
		}
	}
	return false
}

// leavesBytes bounds the size of a function that is read for jumps, in bytes.
const leavesBytes = 64 << 10

// LeavesByJump implements [frames.Jumps]. It reads the whole function. It reports true if that is uncertain: the length
// is unknown or great, or there is an indirect jump or an invalid instruction.
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
