// SPDX-License-Identifier: Apache-2.0

package hotspot

import "prywalk/frames"

// # Frames on arm64
//
// A call leaves the return address in x30. Compiled code makes its frame in one of two ways:
//
//	sub sp, sp, #size; stp x29, x30, [sp, #size-16]
//	stp x29, x30, [sp, #-16]!; sub sp, sp, #size-16
//
//	CFA = sp + size ──► ┌───────────┐
//	                    │ x30       │ CFA − 8
//	                    │ x29       │ CFA − 16
//	                    │ …         │
//	sp ───────────────► └───────────┘
//
// CFA − sp is the frame size in the code's header, plus words pushed within the frame, which the next change of sp on
// the path shows. Before the frame is made and after it is removed, the return address is in x30 and the CFA is sp.
//
// The interpreter's x29 points to the pair, above the caller's sp. While that frame is made, the caller's sp is in a
// register that differs between releases, and is read from the interpreter's code.
//
// Sources: OpenJDK 17 to 25, src/hotspot/cpu/aarch64: frame_aarch64.hpp, macroAssembler_aarch64.cpp (build_frame,
// remove_frame), templateInterpreterGenerator_aarch64.cpp (generate_fixed_frame), interp_masm_aarch64.cpp
// (remove_activation), sharedRuntime_aarch64.cpp (adapters); Arm ARM (DDI 0487), chapter C4.

// leaf has the return address in x30 and CFA = sp.
var leaf = frames.Rule{CFAReg: regSP, Flags: frames.FlagRAInLR, Method: frames.MethodCFI}

// framed has CFA = sp + size, with x29 and x30 below it.
func framed(size int64) frames.Rule {
	return frames.Rule{CFAReg: regSP, CFAOff: int32(size), Method: frames.MethodCFI,
		Saved: [frames.NumCompact]uint8{2, 1}}
}

func afterSub(size int64) frames.Rule {
	r := leaf
	r.CFAOff = int32(size)
	return r
}

// byRecord has CFA = x29 + 16.
func byRecord() frames.Rule {
	r := framed(2 * wordBytes)
	r.CFAReg = regFP
	return r
}

// clobbered loses all callee-saved registers except x29.
func clobbered() *frames.Row {
	row := &frames.Row{}
	for reg := uint8(19); reg < regFP; reg++ {
		row.Regs[reg].Kind = frames.RuleUndefined
	}
	return row
}

func inMemory(reg uint8, off int64) frames.RegRule {
	return frames.RegRule{Kind: frames.RuleRegOffset, Reg: reg, Off: off}
}

// interpretedARM64 is the row of interpreter frames: x29 points to the pair, above the caller's sp.
var interpretedARM64 = func() *frames.Row {
	row := clobbered()
	row.CFAReg, row.CFAExpr = regFP, interpretedCFA{}
	row.RA, row.Regs[regFP] = inMemory(regFP, wordBytes), inMemory(regFP, 0)
	row.Regs[regLR] = row.RA
	return row
}()

// interpretedCFA is an interpreter frame's CFA. An interpreted caller's stored sp may be below it; it then uses x29.
type interpretedCFA struct{}

// FindCFA implements [frames.CFAFinder].
func (interpretedCFA) FindCFA(regs *frames.Regs, mem frames.Memory, _ frames.Addr) (cfa, unread frames.Addr, ok bool) {
	fp, ok := regs.Get(regFP)
	if !ok {
		return 0, 0, false
	}
	sender, ok := mem.Word(fp - wordBytes)
	if !ok {
		return 0, fp - wordBytes, false
	}
	return max(sender, fp+2*wordBytes), 0, true
}

// Eval implements [frames.Expr].
func (s interpretedCFA) Eval(regs *frames.Regs, mem frames.Memory, _ uint64) (uint64, bool) {
	cfa, _, ok := s.FindCFA(regs, mem, 0)
	return cfa, ok
}

func inLR(cfa atLeast) (frames.Rule, *frames.Row, bool) {
	row := clobbered()
	row.CFAReg, row.CFAExpr, row.RA = cfa.reg, cfa, frames.RegRule{Kind: frames.RuleReg, Reg: regLR}
	row.Regs[regLR] = row.RA
	return frames.Rule{CFAReg: cfa.reg, Method: frames.MethodCFI}, row, true
}

// atLeast is reg aligned to 16, but at least other + above ([interpretedCFA]).
type atLeast struct {
	reg, other uint8
	above      uint64
}

// Eval implements [frames.Expr].
func (a atLeast) Eval(regs *frames.Regs, _ frames.Memory, _ uint64) (uint64, bool) {
	v, ok := regs.Get(a.reg)
	other, known := regs.Get(a.other)
	return max(v&^15, other+a.above), ok && known
}

// bySender is for code with sp below the frame.
func bySender(reg uint8) atLeast { return atLeast{reg: reg, other: regSP} }

const (
	bytesBefore = 256
	bytesBehind = 768
)

// around returns the code around pc, within begin and end.
func (v *VM) around(begin, end, pc uint64) window {
	from := max(begin, pc-min(pc, bytesBefore))
	to := max(from, min(end, pc+bytesBehind))
	return window{from, v.code(from, to-from)}
}

func (b *blob) frameBytes() int64 { return 8 * int64(b.frameWords) }

// completeFrom returns the address at which the frame is complete, or 0 if it is unknown.
func (b *blob) completeFrom() uint64 {
	if b.completeAt <= 0 {
		return 0
	}
	return b.begin + uint64(b.completeAt)
}
