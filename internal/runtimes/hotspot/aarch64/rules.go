// SPDX-License-Identifier: Apache-2.0

package aarch64

import "prywalk/frames"

// Rules gives the rules of code. It is for one goroutine at a time.
type Rules struct {
	// Code reads instructions, at most n bytes. They are there until it is called again.
	Code func(addr, n uint64) []byte
	// sender is the register in which an interpreted method gets its caller's stack pointer, 0 if that is not known.
	sender uint8
}

// Piece is a piece of code: a compiled method, a stub, or a piece of the interpreter.
type Piece struct {
	Begin, End uint64
	// Frame is the size of its frames in bytes, Complete the address from which on they are whole.
	Frame    int64
	Complete uint64
	// Assembly: it was written by hand, and gives its frame up in parts.
	Assembly bool
}

// leaf is the rule where the return address is in x30, and the CFA is the stack pointer.
var leaf = frames.Rule{CFAReg: regSP, Flags: frames.FlagLeafRA, Method: frames.MethodCFI}

// framed is the rule where the CFA is so far above sp, with the caller's x29 and the return address below it.
func framed(size int64) frames.Rule {
	return frames.Rule{CFAReg: regSP, CFAOff: int32(size), Method: frames.MethodCFI,
		Saved: [frames.NumCompact]uint8{2, 1}}
}

// made is the rule behind sub sp, sp, #size: the caller's x29 and the return address are in their registers.
func made(size int64) frames.Rule {
	r := leaf
	r.CFAOff = int32(size)
	return r
}

// byRecord is the rule where x29 points to the pair, right below the CFA.
func byRecord() frames.Rule {
	r := framed(2 * wordBytes)
	r.CFAReg = regFP
	return r
}

// clobbered is a row in which the registers that C's functions keep are not known, but for x29.
func clobbered() *frames.Row {
	row := &frames.Row{}
	for reg := uint8(19); reg < regFP; reg++ {
		row.Regs[reg].Kind = frames.RuleUndefined
	}
	return row
}

// at is where a register lies relative to another.
func at(reg uint8, off int64) frames.RegRule {
	return frames.RegRule{Kind: frames.RuleRegOffset, Reg: reg, Off: off}
}

// Interpreted is the row of the interpreter's frames: x29 points to the caller's x29 and the return address. Below that
// lies the stack pointer that the caller had.
var Interpreted = func() *frames.Row {
	row := clobbered()
	row.CFAReg, row.CFAExpr = regFP, sendersSP{}
	row.RA, row.Regs[regFP] = at(regFP, wordBytes), at(regFP, 0)
	row.Regs[regLR] = row.RA
	return row
}()

// sendersSP computes the CFA of such a frame. An interpreted caller has made room for all that its method ever pushes.
// What it calls begins within that room, so that its stack pointer may be further in than the frame. It goes by x29,
// and does not need it. Of a compiled caller that word is exact, and never further in.
type sendersSP struct{}

// Prove implements [frames.Prover].
func (sendersSP) Prove(regs *frames.Regs, mem frames.Memory, _ frames.Addr) (cfa, unread frames.Addr, ok bool) {
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
func (e sendersSP) Eval(regs *frames.Regs, mem frames.Memory, _ uint64) (uint64, bool) {
	cfa, _, ok := e.Prove(regs, mem, 0)
	return cfa, ok
}

// inLR is a row with the return address in x30, and the CFA in a register or, if that is further out, above another.
func inLR(cfa atLeast) (frames.Rule, *frames.Row, bool) {
	row := clobbered()
	row.CFAReg, row.CFAExpr, row.RA = cfa.reg, cfa, frames.RegRule{Kind: frames.RuleReg, Reg: regLR}
	row.Regs[regLR] = row.RA
	return frames.Rule{CFAReg: cfa.reg, Method: frames.MethodCFI}, row, true
}

// atLeast computes the CFA from a register that has the caller's stack pointer, which the interpreter aligns. It is no
// less than so many bytes above another register, as with [sendersSP].
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

// bySender is that of a register while the stack pointer is below the frame.
func bySender(reg uint8) atLeast { return atLeast{reg: reg, other: regSP} }

// Bounds of what is read around an address, in bytes.
const (
	before = 256
	behind = 768
)

// around reads the code of a piece around an address.
func (r *Rules) around(p *Piece, pc uint64) window {
	from := max(p.Begin, pc-min(pc, before))
	to := max(from, min(p.End, pc+behind))
	return window{from, r.Code(from, to-from)}
}

// Dispatch gives the rule in code without a frame that jumps on.
func (r *Rules) Dispatch() (frames.Rule, *frames.Row, bool) { return leaf, nil, true }

// Record gives the rule at a return address in code that has set x29 up as C does.
func (r *Rules) Record() (frames.Rule, *frames.Row, bool) { return byRecord(), nil, true }

// Handles gives the rule in an adapter for method handles: it has no frame, and has got the caller's stack pointer as
// an interpreted method has.
func (r *Rules) Handles() (frames.Rule, *frames.Row, bool) {
	if r.sender == 0 {
		return frames.Rule{}, nil, false
	}
	return inLR(bySender(r.sender))
}
