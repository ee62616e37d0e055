// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"slices"

	"prywalk/frames"
)

type flowKind uint8

const (
	flowNext flowKind = iota
	flowCond          // to the target or the next instruction
	flowJump
	flowIndirect // to an unknown place in the function, or a tail call
	flowTail     // to another function
	flowCall     // to the next instruction, after a call
	flowReturn
	flowEnd // nowhere: a trap, or not decodable
)

type flow struct {
	kind    flowKind
	size    uint8  // 0 if not decodable
	padding bool   // padding no-op
	landing bool   // endbr64, bti c
	trap    bool   // with flowEnd: hlt, ud2, brk, udf
	toReg   uint8  // register of an indirect jump or arm64's return; noReg means none
	target  uint64 // 0 means unknown
	ret     value  // CFA, with flowReturn and flowTail
	ra      value  // return address, with them on arm64
}

func (f *flow) fallsThrough() bool {
	return f.kind == flowNext || f.kind == flowCond || f.kind == flowCall
}

// abi describes an architecture, by hardware numbers of registers.
type abi struct {
	sp, fp      uint8
	ra          uint8   // link register; noReg means that calls push the return address
	calleeSaved []uint8 // fp first
	scratch     uint32  // changed by calls
	entry       int64   // CFA − stack pointer at a function's entry
	// step interprets the instruction at st.pc, whose bytes begin code. It sets f, and leaves st.pc.
	step func(st *symbolicState, code []byte, f *flow)
	// dwarf converts a hardware number.
	dwarf func(reg uint8) uint8
	// afterPush reports whether pc is behind the push of a PLT's first entry.
	afterPush  func(in *interpreter, pc uint64) bool
	callBefore func(s *Source, ret uint64) (frames.Call, bool)
	// endsInJump reports whether 4 bytes end in a jump by register or a return.
	endsInJump func(before []byte) bool

	syscall         []byte
	syscallReg      uint8
	exit, exitGroup int32 // of a thread and a process
	// sigreturnForms are the kernel's signal trampolines: two instructions that call rt_sigreturn.
	sigreturnForms [][]byte
	signalRow      *frames.Row
}

var abis = map[frames.Arch]*abi{frames.X86_64: &abiX86, frames.ARM64: &abiARM64}

func (abi *abi) cfaAtEntry() value { return startValue(abi.sp).plus(abi.entry) }

// isFrameAt reports whether fp is the frame pointer of a whole frame: at the caller's, below the return address (as
// AAPCS64 §6.4.6).
func (abi *abi) isFrameAt(st *symbolicState, fp value) bool {
	below := fp.off == -8
	if abi.ra != noReg {
		below = st.load(fp.plus(8)).isStartValue(abi.ra)
	}
	return below && st.load(fp).isStartValue(abi.fp)
}

func (abi *abi) isCalleeSaved(reg uint8) bool {
	return slices.Contains(abi.calleeSaved, reg)
}
