// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"

	"prywalk/frames"
)

func (v *VM) ruleX86(b *blob, q *frames.Query) (frames.Rule, *frames.Row, bool) {
	if q.AfterCall {
		return v.ruleAtReturnAddress(b, q)
	}
	switch b.kind {
	case kindMethod:
		return v.ruleInMethod(b, q.PC)
	case kindInterpreter:
		if !q.SPOnly {
			return v.ruleInInterpreter(b, q.PC)
		}
	case kindStubRoutines:
		return v.ruleInBarrier(b, q)
	case kindAdapter:
		return v.ruleInAdapter(b, q)
	case kindException:
		return v.ruleInExceptionStub(b, q.PC)
	case kindMethodHandles:
		return v.ruleInMethodHandleAdapter(q.PC)
	case kindDispatch:
		return framelessRule()
	}
	return frames.Rule{}, nil, false
}

func (v *VM) ruleAtReturnAddress(b *blob, q *frames.Query) (frames.Rule, *frames.Row, bool) {
	switch b.kind {
	case kindMethod:
		return v.ruleAtReturnToMethod(b, q.PC)
	case kindException:
		return frameRule(8 * b.frameWords), nil, b.frameWords > 0
	case kindStub:
		r, ok := v.ruleInForwardException(q.PC)
		return r, nil, ok
	case kindStubRoutines:
		if r, ok := v.ruleInForwardException(q.PC); ok {
			return r, nil, true
		}
		return v.ruleInBarrier(b, q)
	case kindAdapter:
		return v.ruleInAdapter(b, q)
	case kindDeopt:
		// sp is realigned; rbp is as in C frames (generate_deopt_blob).
		r := frameRule(16)
		r.CFAReg = frames.X86RBP
		return r, nil, !q.SPOnly
	case kindInterpreter:
		if !q.SPOnly {
			return v.ruleAtReturnToInterpreter(b, q.PC)
		}
	}
	return frames.Rule{}, nil, false
}

func (v *VM) ruleAtReturnToMethod(b *blob, ret uint64) (frames.Rule, *frames.Row, bool) {
	if b.frameWords <= 0 {
		return frames.Rule{}, nil, false
	}
	if !v.analysis.KeepsSP(ret) {
		return v.ruleByReturnPath(b, ret)
	}
	return frameRule(8 * b.frameWords), nil, true
}

// afterRestore returns the address after a stub has restored all registers. There its own frame is valid, with rbp as
// during the call.
func (v *VM) afterRestore(q frames.Query) (pc uint64, ok bool) {
	if !q.AfterCall || v.isARM64() {
		return 0, false
	}
	if b, ok := v.find(q.PC); !ok || !b.kind.isAssembly() {
		return 0, false
	}
	code := v.code(q.PC, maxRestores)
	last := bytes.Index(code, restoredAll)
	if last < 0 || !bytes.HasPrefix(code, restoresAll) {
		return 0, false
	}
	return q.PC + uint64(last+len(restoredAll)), true
}

// frameRule is the rule of a frame of size bytes, with rbp saved below the return address.
func frameRule(size int32) frames.Rule {
	r := frames.Rule{CFAReg: frames.X86RSP, CFAOff: size, Method: frames.MethodCFI}
	r.Saved[0] = 2
	return r
}

// framelessRule is the rule with the return address at sp.
func framelessRule() (frames.Rule, *frames.Row, bool) {
	return frames.Rule{CFAReg: frames.X86RSP, CFAOff: 8, Method: frames.MethodCFI}, nil, true
}

// The frame holds the caller's rbp, return address and sp without arguments.
var interpreted = frames.Row{
	CFAReg: frames.X86RBP, CFAOff: -8, CFADeref: true,
	RA: frames.RegRule{Kind: frames.RuleRegOffset, Reg: frames.X86RBP, Off: 8},
	Regs: [frames.NumRegs]frames.RegRule{
		frames.X86RBP: {Kind: frames.RuleRegOffset, Reg: frames.X86RBP},
		frames.X86RBX: {Kind: frames.RuleUndefined},
		frames.X86R12: {Kind: frames.RuleUndefined},
		frames.X86R13: {Kind: frames.RuleUndefined},
		frames.X86R14: {Kind: frames.RuleUndefined},
		frames.X86R15: {Kind: frames.RuleUndefined},
	},
}

func interpretedRule() (frames.Rule, *frames.Row, bool) { return byRow(&interpreted, frames.MethodCFI) }

func byRow(row *frames.Row, m frames.Method) (frames.Rule, *frames.Row, bool) {
	return frames.Rule{CFAReg: row.CFAReg, CFAOff: int32(row.CFAOff), Method: m}, row, true
}

// ruleRAAtSP has the return address at sp + off, and the CFA in sender: r13 at the start of interpreter code and of
// adapters.
func ruleRAAtSP(sender uint8, off int64, m frames.Method) (frames.Rule, *frames.Row, bool) {
	row := callerRow(sender, 0)
	row.RA = frames.RegRule{Kind: frames.RuleRegOffset, Reg: frames.X86RSP, Off: off}
	return byRow(row, m)
}

// callerRow loses the callee-saved registers except rbp.
func callerRow(cfaReg uint8, off int32) *frames.Row {
	row := &frames.Row{CFAReg: cfaReg, CFAOff: int64(off)}
	for _, reg := range [...]uint8{frames.X86RBX, frames.X86R12, frames.X86R13, frames.X86R14, frames.X86R15} {
		row.Regs[reg].Kind = frames.RuleUndefined
	}
	return row
}

// ruleRAInReg has the return address in raReg and CFA = cfaReg + off.
func ruleRAInReg(raReg, cfaReg uint8, off int32) (frames.Rule, *frames.Row, bool) {
	row := callerRow(cfaReg, off)
	if cfaReg != frames.X86RSP {
		row.CFAExpr = poppedSP{cfaReg, off}
	}
	row.RA = frames.RegRule{Kind: frames.RuleReg, Reg: raReg}
	return byRow(row, frames.MethodCFI)
}

// poppedSP is the CFA from the caller's sp, after the pop of the return address. A method handle adapter moves an
// interpreted caller's return address up a word.
type poppedSP struct {
	reg uint8
	off int32
}

// Eval implements [frames.Expr].
func (s poppedSP) Eval(regs *frames.Regs, _ frames.Memory, _ uint64) (uint64, bool) {
	sender, ok := regs.Get(s.reg)
	sp, known := regs.Get(frames.X86RSP)
	if sender += uint64(int64(s.off)); sp-sender == 8 {
		sender = sp
	}
	return sender, ok && known
}

// ruleRABelowCFA has CFA = sp + size, with the return address directly below it.
func ruleRABelowCFA(size int32, fp frames.RegRule) (frames.Rule, *frames.Row, bool) {
	row := callerRow(frames.X86RSP, size)
	row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -8}
	row.Regs[frames.X86RBP] = fp
	return byRow(row, frames.MethodCFI)
}
