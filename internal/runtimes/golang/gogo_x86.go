// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/frames"

// gogoX86 returns the rule of gogo after its load of the stack pointer; pc and rbp are in the gobuf at rbx.
func (t rulesX86) gogoX86(q frames.Query, f *fn) (frames.Rule, *frames.Row, bool) {
	fl := t.flow(f)
	at := q.PC - f.entry
	ra := frames.RegRule{Kind: frames.RuleReg, Reg: frames.X86RBX}
	var bp frames.RegRule
	const rbx = 3
	for i := range fl.insns {
		in := &fl.insns[i]
		if uint64(fl.offs[i]) < at || !in.load() || in.Base != rbx {
			continue
		}
		p := frames.RegRule{Kind: frames.RuleRegOffset, Reg: frames.X86RBX, Off: int64(in.Disp)}
		switch in.Reg {
		case rbx:
			ra = p
		case regBP:
			bp = p
		}
	}
	if q.Caller {
		return t.refuse()
	}
	row := t.row(rowKey{kind: kindGogo, pc: q.PC}, func() *frames.Row {
		row := &frames.Row{CFAReg: frames.X86RSP, RA: ra}
		row.Regs[frames.X86RBP] = bp
		return row
	})
	// FlagSignal: a new goroutine's pc is exact
	return frames.Rule{CFAReg: frames.X86RSP, Flags: frames.FlagSignal, Method: frames.MethodCFI}, row, true
}
