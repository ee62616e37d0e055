// SPDX-License-Identifier: Apache-2.0

package arm64

import "prywalk/frames"

// Rules has the rules of HotSpot's code, for one goroutine at a time.
type Rules struct {
	// Code reads at most n bytes, valid until the next call.
	Code func(addr, n uint64) []byte
	// sender has the caller's sp in an interpreted method; 0: unknown.
	sender uint8
}

// Piece is a compiled method, a stub, or a part of the interpreter.
type Piece struct {
	Begin, End uint64
	// Frame is in bytes; at Complete the frame is complete.
	Frame    int64
	Complete uint64
	// Assembly: a stub, which removes its frame in parts.
	Assembly bool
}

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

func at(reg uint8, off int64) frames.RegRule {
	return frames.RegRule{Kind: frames.RuleRegOffset, Reg: reg, Off: off}
}

// Interpreted is the row of interpreter frames: x29 points to the pair, above the caller's sp.
var Interpreted = func() *frames.Row {
	row := clobbered()
	row.CFAReg, row.CFAExpr = regFP, interpretedCFA{}
	row.RA, row.Regs[regFP] = at(regFP, wordBytes), at(regFP, 0)
	row.Regs[regLR] = row.RA
	return row
}()

// interpretedCFA is an interpreter frame's CFA. An interpreted caller's stored sp may be below it; such a caller uses
// x29.
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

func (r *Rules) around(p *Piece, pc uint64) window {
	from := max(p.Begin, pc-min(pc, bytesBefore))
	to := max(from, min(p.End, pc+bytesBehind))
	return window{from, r.Code(from, to-from)}
}

// Dispatch returns the rule in frameless code that jumps on.
func (r *Rules) Dispatch() (frames.Rule, *frames.Row, bool) { return leaf, nil, true }

// Record returns the rule at a return address in code with a C frame.
func (r *Rules) Record() (frames.Rule, *frames.Row, bool) { return byRecord(), nil, true }

// Handles returns the rule in a frameless method handle adapter.
func (r *Rules) Handles() (frames.Rule, *frames.Row, bool) {
	if r.sender == 0 {
		return frames.Rule{}, nil, false
	}
	return inLR(bySender(r.sender))
}
