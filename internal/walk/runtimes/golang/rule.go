// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/frames"

type rules struct {
	funcs   *funcs
	decoder *gOffsetsDecoder
	paths   map[uint64]*pathX86
}

// Rule implements [frames.RuleSource]; false outside of the table's functions. If the stack pointer is unknown, the
// Row cannot be applied, and no other source is asked.
func (t *rules) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	pc := q.LookupPC(t.funcs.img.Arch)
	f, ok := t.funcs.find(pc)
	if !ok || f.pcsp == 0 {
		return t.ruleAtStart(q)
	}
	k, spWrite := t.funcs.kind(&f)
	if q.AfterCall && q.PC == f.end {
		// Go's sigreturn stub may start at the return address.
		if r, row, ok := t.ruleAtStart(q); ok {
			return r, row, ok
		}
	}
	if k == kindRoot {
		return root()
	}
	delta, ok := t.funcs.pcvalue(&f, f.pcsp, pc)
	if !ok {
		return frames.Rule{}, nil, false // padding
	}
	if delta < 0 && t.funcs.img.Arch != frames.X86_64 {
		return refuse()
	}
	var r frames.Rule
	var row *frames.Row
	if t.funcs.img.Arch == frames.ARM64 {
		r, row, ok = t.ruleARM64(q, &f, k, spWrite, delta)
	} else {
		r, row, ok = t.ruleX86(q, &f, k, spWrite, delta)
	}
	if k == kindReschedules && ok && row == nil && q.AfterCall && t.funcs.called(q.PC) == "runtime.schedule" {
		row = t.rowWithoutGoroutine(r)
	}
	return r, row, ok
}

// rowWithoutGoroutine returns r with a register of g that is noGoroutine for the callers: morestack has no goroutine
// any more, which a passive read knows by no register ([GOffsets.curg]).
func (t *rules) rowWithoutGoroutine(r frames.Rule) *frames.Row {
	c, ok := t.decoder.GOffsets()
	if !ok {
		return nil
	}
	row := t.rowOf(r)
	row.Regs[c.GReg] = frames.RegRule{Kind: frames.RuleValExpr, Expr: noGoroutineExpr{}}
	return row
}

func (t *rules) rowOf(r frames.Rule) *frames.Row {
	row := &frames.Row{CFAReg: r.CFAReg, CFAOff: int64(r.CFAOff), RA: frames.RegRule{Kind: frames.RuleOffset, Off: -8}}
	for i, reg := range t.funcs.img.Arch.CompactRegs() {
		if u := r.Saved[i]; u != 0 && reg != frames.NoReg {
			row.Regs[reg] = frames.RegRule{Kind: frames.RuleOffset, Off: -8 * int64(u)}
		}
	}
	if t.funcs.img.Arch == frames.ARM64 {
		row.RA, row.Regs[frames.ARM64LR] = row.Regs[frames.ARM64LR], frames.RegRule{}
	}
	return row
}

// noGoroutine is no address of a g. 0 is what the register of g has by chance in code that is not Go's, as of the vDSO.
const noGoroutine = 1

type noGoroutineExpr struct{}

// Eval implements [frames.Expr].
func (noGoroutineExpr) Eval(*frames.Regs, frames.Memory, uint64) (uint64, bool) {
	return noGoroutine, true
}

func (t *rules) ruleAtStart(q frames.Query) (frames.Rule, *frames.Row, bool) {
	f, ok := t.funcs.find(q.PC)
	if !ok || !q.AfterCall || f.entry != q.PC || t.funcs.img.Arch != frames.X86_64 {
		return frames.Rule{}, nil, false
	}
	if k, _ := t.funcs.kind(&f); k != kindSigreturn {
		return frames.Rule{}, nil, false
	}
	return sigreturnX86()
}

type refusal struct{}

// Eval implements [frames.Expr].
func (refusal) Eval(*frames.Regs, frames.Memory, uint64) (uint64, bool) { return 0, false }

var refused = frames.Row{CFAExpr: refusal{}}

// refuse ends the walk (bad-memory or unproven).
func refuse() (frames.Rule, *frames.Row, bool) {
	return frames.Rule{Method: frames.MethodCFI}, &refused, true
}

func root() (frames.Rule, *frames.Row, bool) {
	return frames.Rule{Flags: frames.FlagRoot, Method: frames.MethodCFI}, nil, true
}
