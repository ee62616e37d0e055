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

// flow is where an instruction leads.
type flow struct {
	kind    flowKind
	size    uint8  // length of the instruction, 0 if not decodable
	padding bool   // padding no-op
	landing bool   // landing place (endbr64, bti c)
	trap    bool   // with flowEnd: hlt, ud2, brk
	toReg   uint8  // register of an indirect jump, or of arm64's return; noReg: none
	target  uint64 // of a branch, jump or direct call; 0: unknown
	ret     value  // CFA, at a return or tail call
	ra      value  // value of the return address register (arm64)
}

// passes reports whether a straight run goes on behind the instruction.
func (f *flow) passes() bool { return f.kind == flowNext || f.kind == flowCond || f.kind == flowCall }

// abi describes an architecture, by hardware numbers of registers.
type abi struct {
	sp, fp      uint8
	ra          uint8                                         // link register; noReg: calls push
	calleeSaved []uint8                                       // callee-saved registers, fp first
	scratch     uint32                                        // registers that a call may change
	entry       int64                                         // CFA − stack pointer at a function's entry
	step        func(st *symbolicState, code []byte, f *flow) // interprets the instruction at st.pc, the first of code
	// isFrame reports whether fp, with the words at it and above, is a frame pointer of the ABI.
	isFrame func(fp, at, above value) bool
	dwarf   func(reg uint8) uint8
	// afterPush reports whether a word of memory was pushed just before pc (first entry of a PLT).
	afterPush  func(in *interpreter, pc uint64) bool
	callBefore func(s *Source, ret uint64) (frames.Call, bool)
	// endsInJump reports whether these 4 bytes end in a jump by register or a return.
	endsInJump func(before []byte) bool

	syscall         []byte // the instruction of a system call
	syscallReg      uint8  // register of its number
	exit, exitGroup int32  // numbers of those that end a thread and a process
	trampoline
}

var abis = map[frames.Arch]*abi{frames.X86_64: &abiX86, frames.AArch64: &abiAArch64}

// cfaAtEntry is the CFA by the registers at a function's entry.
func (abi *abi) cfaAtEntry() value { return startValue(abi.sp).plus(abi.entry) }

func (abi *abi) framesAt(st *symbolicState, fp value) bool {
	return abi.isFrame(fp, st.load(fp), st.load(fp.plus(8)))
}

func (abi *abi) isCalleeSaved(reg uint8) bool {
	for _, r := range abi.calleeSaved {
		if r == reg {
			return true
		}
	}
	return false
}
