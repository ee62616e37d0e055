// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

type flowKind uint8

const (
	flowNext     flowKind = iota
	flowCond              // to the target or the next instruction
	flowJump              // to the target
	flowIndirect          // to an unknown place in the function, or a tail call
	flowTail              // to another function
	flowCall              // to the next instruction, after a call
	flowReturn
	flowEnd // nowhere: a trap, or not decodable
)

type flow struct {
	kind    flowKind
	size    uint8  // length of the instruction
	padding bool   // padding no-op
	landing bool   // landing place (endbr64, bti c)
	target  uint64 // relative to the next instruction
	ret     value  // CFA, at a return or tail call
	ra      value  // value of the return address register (arm64)
}

// abi describes an architecture, by hardware numbers of registers. Functions may be nil where said.
type abi struct {
	sp, fp      uint8
	ra          uint8                                         // link register; noReg: calls push
	calleeSaved []uint8                                       // callee-saved registers, fp first
	scratch     uint32                                        // registers that a call may change
	entry       int64                                         // CFA − stack pointer at a function's entry
	step        func(st *symbolicState, code []byte, f *flow) // interprets the first instruction of code
	tail        func(st *symbolicState) flow                  // what a tail call proves
	// isFrame reports whether fp, with the words at it and above, is a frame pointer of the ABI.
	isFrame func(fp, at, above value) bool
	dwarf   func(reg uint8) uint8
	// findEpilogue finds the frame that the first path from pc proves. May be nil.
	findEpilogue func(w *interpreter, pc uint64, caller bool) (finding, bool)
	// argumentDrop returns the row of code with its return address in a register while it drops arguments. May be nil.
	argumentDrop func(w *interpreter, pc uint64) (*frames.Row, bool)
	// for [Source.unboundedHandlerFrame]; may be nil
	tableRegLoaded func(code []byte) uint8
	jumpsBy        func(code []byte, reg uint8) bool
	// afterPush reports whether a word of memory was pushed just before pc (first entry of a PLT).
	afterPush  func(w *interpreter, pc uint64) bool
	callBefore func(s *Source, ret uint64) (frames.Call, bool)
	// for [Source.Popped]; may be nil
	popped       func(s *Source, pc uint64, n int) (reg uint8, ok bool)
	isThreadRoot func(w *interpreter, pc uint64) bool
	// isStackStart reports whether pc is in the first function of a prepared stack. May be nil.
	isStackStart func(w *interpreter, pc uint64) bool
	// switchTarget returns the target of an instruction that may go on on another stack ([Source.frameSwitch]).
	switchTarget func(st *symbolicState, code []byte) (value, bool)
	isTrap       func(code []byte) bool
	// endsInJump reports whether these 4 bytes end in a jump by register or a return.
	endsInJump func(before []byte) bool
	// hasTailCall reports whether the code from lo to hi may jump out of there.
	hasTailCall func(w *interpreter, lo, hi uint64) bool
	trampoline
}

var abis = map[frames.Arch]*abi{frames.X86_64: &abiX86, frames.AArch64: &abiAArch64}

func (a *abi) framesAt(st *symbolicState, fp value) bool {
	return a.isFrame(fp, st.load(fp), st.load(fp.plus(8)))
}

func (a *abi) isCalleeSaved(reg uint8) bool {
	for _, r := range a.calleeSaved {
		if r == reg {
			return true
		}
	}
	return false
}
