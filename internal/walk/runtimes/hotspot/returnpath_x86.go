// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"

	"prywalk/frames"
	"prywalk/heuristics"
)

// Bytes pushed below a frame by GC barriers and string loops.
const maxPushed = 4096

// ruleByReturnPath follows the path to the method's return; without one the frame has its usual size, and there is
// no rule in a stub that moves sp.
func (v *VM) ruleByReturnPath(b *blob, pc uint64) (frames.Rule, *frames.Row, bool) {
	cfa, ok := v.analysis.ReturnCFA(pc, b.begin, b.end)
	above := cfa.Off // CFA − register or saved sp
	if cfa.Saved {
		above = cfa.Add
	}
	frame := int64(8 * b.frameWords)
	onSP := cfa.Reg == frames.X86RSP && !cfa.Saved
	switch {
	case ok && onSP && cfa.Straight && above >= 8 && above < frame && above%8 == 0:
		return ruleRABelowCFA(int32(above), cfa.FP) // only a return and rbp's restoration remain
	case !ok && b.stub && !v.analysis.KeepsSP(pc):
		return frames.Rule{}, nil, false
	case !ok, above%8 != 0, above < frame, above > frame+maxPushed:
		return frameRule(int32(frame)), nil, true
	case onSP:
		return frameRule(int32(above)), nil, true
	}
	return byRow(rowOf(&cfa, frames.RegRule{Kind: frames.RuleOffset, Off: -16}), frames.MethodCFI)
}

// rowOf is the row of a CFA found by instructions, with the return address below it and rbp by fp.
func rowOf(cfa *heuristics.CFA, fp frames.RegRule) *frames.Row {
	row := callerRow(cfa.Reg, int32(cfa.Off))
	if cfa.Saved { // before alignment (C2_MacroAssembler::string_indexof)
		row.CFAExpr = *cfa
	}
	row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -8}
	row.Regs[frames.X86RBP] = fp
	return row
}

// Routine returns the rule in assembly.
func (v *VM) Routine(q frames.Query) (frames.Rule, *frames.Row, bool) {
	at := q.PC
	if q.AfterCall {
		at--
	}
	b, ok := v.find(at)
	if !ok || !b.kind.isAssembly() {
		return frames.Rule{}, nil, false
	}
	cfa, ok := v.analysis.ReturnCFA(q.PC, b.begin, b.end)
	if !ok || q.SPOnly && cfa.Reg != frames.X86RSP {
		return frames.Rule{}, nil, false
	}
	return byRow(rowOf(&cfa, cfa.FP), frames.MethodHeuristic)
}

// In StubGenerator::generate_method_entry_barrier: push -1; push rbp; mov rbp, rsp; ...; leave; add rsp, 8; ret. A
// second path restores all registers before its leave.
var (
	barrierBegins = []byte{0x68, 0xff, 0xff, 0xff, 0xff, 0x55, 0x48, 0x8b, 0xec}
	barrierEnds   = []byte{opLeave, 0x48, 0x83, 0xc4, 8, opRet}
)

const maxBarrier = 768 // bytes

func (v *VM) ruleInBarrier(b *blob, q *frames.Query) (frames.Rule, *frames.Row, bool) {
	from := max(b.begin, q.PC-min(q.PC, maxBarrier))
	code := v.code(from, min(b.end-from, 2*maxBarrier))
	pc := int(q.PC - from)
	begin := bytes.LastIndex(code[:min(pc+len(barrierBegins), len(code))], barrierBegins)
	if begin < 0 {
		return frames.Rule{}, nil, false
	}
	ends := bytes.Index(code[begin:], barrierEnds)
	switch off := pc - begin; {
	case off < max(ends+len(barrierEnds), len(barrierBegins)):
		return v.Routine(*q)
	case ends < 0, q.SPOnly, !restoresRegisters(code[begin+ends+len(barrierEnds):], off-ends):
		return frames.Rule{}, nil, false
	}
	cfa := heuristics.CFA{Reg: frames.X86RBP, Off: 24}
	return byRow(rowOf(&cfa, frames.RegRule{Kind: frames.RuleOffset, Off: -24}), frames.MethodCFI)
}

// restoresRegisters reports whether code restores all registers up to a leave, and has pc. since is the bytes from the
// first path's leave to pc.
func restoresRegisters(code []byte, since int) bool {
	if !bytes.HasPrefix(code, restoresAll) {
		return false
	}
	restored := bytes.Index(code, restoredAll)
	leave := restored + len(restoredAll)
	if leave < len(code) && code[leave] == opPop|7 {
		leave++
	}
	return restored >= 0 && leave < len(code) && code[leave] == opLeave && since-len(barrierEnds) <= leave
}

// ruleAtReturnToInterpreter returns the rule at a return address in the interpreter. Intrinsics (Math.sin) have no
// frame, at most alignment; native methods have one (CRC32, JDK 8).
func (v *VM) ruleAtReturnToInterpreter(b *blob, ret uint64) (frames.Rule, *frames.Row, bool) {
	c, ok := v.codeletAt(b, ret)
	prologue := 0
	if ok && c.entry {
		prologue = bytes.Index(v.code(c.begin, c.end-c.begin), interpreterPrologue)
	} else if rule, row, removed, found := v.ruleInRemoval(&c, ret); ok && found {
		return rule, row, removed
	}
	if !ok || !c.entry || prologue >= 0 && ret > c.begin+uint64(prologue) {
		return interpretedRule()
	}
	r, ok := v.analysis.ReturnAddress(ret, c.begin, c.end)
	if !ok || r.RA.Kind != frames.RuleRegOffset || r.RA.Reg != frames.X86RSP || r.RA.Off < 0 {
		return frames.Rule{}, nil, false
	}
	e := fromInterpreter{b.begin, b.end, uint64(r.RA.Off)}
	row := callerRow(frames.X86RSP, int32(8+e.above))
	row.CFAExpr = e
	row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -8}
	return byRow(row, frames.MethodCFI)
}

// The CFA of a frameless intrinsic, with the return address at sp + above.
type fromInterpreter struct{ begin, end, above uint64 }

// Eval implements [frames.Expr].
func (f fromInterpreter) Eval(regs *frames.Regs, mem frames.Memory, _ uint64) (uint64, bool) {
	sp, ok := regs.Get(frames.X86RSP)
	if !ok {
		return 0, false
	}
	at := sp + f.above
	ret, ok := mem.Word(at)
	if ok && ret > f.begin && ret < f.end {
		return at + 8, true
	}
	for _, moved := range adapterMoves {
		if was, known := mem.Word(at + moved - 8); ok && known && was == ret {
			return at + moved, true
		}
	}
	return 0, false
}

// An adapter moves a compiled caller's return address down by these bytes: before JDK 21 multiples of 16, and the
// original word stays (sharedRuntime_x86_64.cpp, gen_c2i_adapter).
var adapterMoves = [...]uint64{32, 48}
