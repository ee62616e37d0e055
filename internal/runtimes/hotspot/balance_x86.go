package hotspot

import (
	"prywalk/frames"
	"prywalk/heuristics"
)

// Compiled methods push words inside of their frame: C2 in the loops that it makes of String's methods, both
// compilers around a collector's barriers. There the CFA lies further above the stack pointer than the size of the
// frame. How far shows on the way to the return.

// maxPushed bounds what a method has on the stack besides its frame, in bytes: a barrier saves all registers of
// AVX-512.
const maxPushed = 4096

// balanced gives the rule of a method at pc, whose CFA is usual bytes above the stack pointer where nothing shows more.
// Where the way to the return is not known, the size of the frame holds only as long as nothing moves the stack
// pointer.
func (v *VM) balanced(b *blob, pc uint64, usual int32) (frames.Rule, *frames.Row, bool) {
	if v.o.Flow == nil {
		return framed(usual), nil, true
	}
	cfa, ok := v.o.Flow.ReturnCFA(pc, b.begin, b.end)
	above := cfa.Off // how far the CFA is above a stack pointer that this method has had
	if cfa.Saved {
		above = cfa.Add
	}
	frame := int64(8 * b.frame)
	onSP := cfa.Reg == frames.X86RSP && !cfa.Saved
	switch {
	case ok && onSP && cfa.Straight && above >= 8 && above < frame && above%8 == 0:
		return leavingFrame(&cfa) // a part of the frame has been given up
	case !ok && b.stub && !v.o.Flow.LevelAfter(pc):
		return frames.Rule{}, nil, false
	case !ok, above%8 != 0, above < frame, above > frame+maxPushed:
		return framed(usual), nil, true
	case onSP:
		return framed(int32(above)), nil, true
	}
	row := byCaller(cfa.Reg, int32(cfa.Off))
	if cfa.Saved {
		row.CFAExpr = savedSP(cfa)
	}
	row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -8}
	row.Regs[frames.X86RBP] = frames.RegRule{Kind: frames.RuleOffset, Off: -16}
	return frames.Rule{CFAReg: cfa.Reg, Method: frames.MethodCFI}, row, true
}

// leavingFrame gives the rule where nothing but the return is left to do, and what restores rbp.
func leavingFrame(cfa *heuristics.CFA) (frames.Rule, *frames.Row, bool) {
	row := byCaller(frames.X86RSP, int32(cfa.Off))
	row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -8}
	row.Regs[frames.X86RBP] = cfa.FP
	return frames.Rule{CFAReg: frames.X86RSP, CFAOff: int32(cfa.Off), Method: frames.MethodCFI}, row, true
}

// Routine gives the rule in code written in assembly whose frames neither the machine's tables nor the usual analysis
// of the instructions tell: by the way to its return alone. What registers hold there is not known but for rbp.
func (v *VM) Routine(q frames.Query) (frames.Rule, *frames.Row, bool) {
	at := q.PC
	if q.Caller {
		at--
	}
	b, ok := v.find(at)
	if !ok || !b.kind.assembly() || v.o.Flow == nil {
		return frames.Rule{}, nil, false
	}
	cfa, ok := v.o.Flow.ReturnCFA(q.PC, b.begin, b.end)
	if !ok || q.SPOnly && cfa.Reg != frames.X86RSP {
		return frames.Rule{}, nil, false
	}
	row := byCaller(cfa.Reg, int32(cfa.Off))
	if cfa.Saved {
		row.CFAExpr = savedSP(cfa)
	}
	row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -8}
	row.Regs[frames.X86RBP] = cfa.FP
	return frames.Rule{CFAReg: cfa.Reg, Method: frames.MethodHeuristic}, row, true
}

// savedSP computes the CFA from an earlier stack pointer, which the method has saved to move its stack to an aligned
// address (C2_MacroAssembler::string_indexof).
type savedSP heuristics.CFA

// Eval implements [frames.Expr].
func (e savedSP) Eval(regs *frames.Regs, mem frames.Memory, _ uint64) (uint64, bool) {
	base, ok := regs.Get(e.Reg)
	if !ok {
		return 0, false
	}
	saved, ok := mem.Word(base + uint64(e.Off))
	return saved + uint64(e.Add), ok
}
