// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/frames"

// gogoX86 returns the rule of gogo after its load of the stack pointer: pc and rbp are in the gobuf at rbx.
func (t *rules) gogoX86(q frames.Query, f *funcInfo) (frames.Rule, *frames.Row, bool) {
	if q.AfterCall {
		return refuse()
	}
	ra := frames.RegRule{Kind: frames.RuleReg, Reg: frames.X86RBX}
	var bp frames.RegRule
	const rbx = 3
	walkX86(f.entry, t.funcs.codeOf(f), func(in *insn, next uint64) bool {
		p := frames.RegRule{Kind: frames.RuleRegOffset, Reg: frames.X86RBX, Off: int64(in.Disp)}
		switch {
		case next <= q.PC || !in.load() || in.Base != rbx:
		case in.Reg == rbx:
			ra = p
		case in.Reg == regBP:
			bp = p
		}
		return true
	})
	row := &frames.Row{CFAReg: frames.X86RSP, RA: ra}
	row.Regs[frames.X86RBP] = bp
	// a new goroutine's pc is no return address
	return frames.Rule{CFAReg: frames.X86RSP, Flags: frames.FlagExactPC, Method: frames.MethodCFI}, row, true
}

// cgoCallX86 returns the rule of asmcgocall while C code runs. On C's stack it has saved g and the depth of its stack,
// which holds even if a callback moves that; or, called on a system stack, 0 and the old stack pointer. Until Go 1.20
// it has no frame.
func (t *rules) cgoCallX86(f *funcInfo, pc uint64, p *pathX86) (frames.Rule, *frames.Row, bool) {
	g, depth, ok := cgoWords(t.funcs.codeOf(f), f.entry, pc)
	bpOff, onStack := p.stackIn(regBP)
	if !ok || !p.keeps(regBP) && (!onStack || p.saved(regBP) == 0) {
		return refuse()
	}
	e := cgoCFA{frame: 8, g: g, depth: depth, sp: frames.X86RSP, fp: frames.X86RBP}
	row := &frames.Row{RA: frames.RegRule{Kind: frames.RuleOffset, Off: -8}}
	row.Regs[frames.X86RBP].Kind = frames.RuleSame
	if onStack {
		e.frame, e.fpOff = bpOff, bpOff
		row.Regs[frames.X86RBP] = frames.RegRule{Kind: frames.RuleOffset, Off: -p.saved(regBP)}
	}
	row.CFAExpr = e
	return frames.Rule{Flags: frames.FlagStackSwitch, Method: frames.MethodCFI}, row, true
}

// cgoWords returns the offsets from rsp of the saved g and depth ([cgoCFA]) at pc: of the last two stores on the stack
// since a jump.
func cgoWords(code []byte, entry, pc uint64) (g, depth int64, ok bool) {
	n := 0
	walkX86(entry, code, func(in *insn, next uint64) bool {
		switch continues, jumps := in.successors(); {
		case next > pc:
			return false
		case !continues || jumps:
			n = 0
		case in.Map == 0 && in.W && in.onStack() && (in.Op == opStore || in.Op == opMoveImmediate):
			g, depth, n = depth, int64(in.Disp), n+1
		}
		return true
	})
	return g, depth, n >= 2
}

// schedX86 returns the rule of morestack (its caller's registers are in curg.sched), and until Go 1.20 of systemstack
// (its return address is at curg.sched.sp).
func (t *rules) schedX86(q frames.Query, k funcKind) (frames.Rule, *frames.Row, bool) {
	c, ok := t.decoder.GOffsets()
	if !ok {
		return refuse()
	}
	e := func(off int64) gobufExpr { return gobufExpr{t: t, pc: q.PC, c: c, off: off, leftBy: k} }
	row := &frames.Row{CFAExpr: e(c.SchedSP), RA: frames.RegRule{Kind: frames.RuleValExpr, Expr: e(c.SchedPC)}}
	if k == kindSystemStack {
		sp := e(c.SchedSP)
		sp.add = 8
		row.CFAExpr, row.RA = sp, frames.RegRule{Kind: frames.RuleOffset, Off: -8}
	}
	row.Regs[frames.X86RBP] = frames.RegRule{Kind: frames.RuleValExpr, Expr: e(c.SchedBP)}
	return frames.Rule{Flags: frames.FlagStackSwitch, Method: frames.MethodCFI}, row, true
}

func (t *funcs) callBeforeX86(ret uint64) (uint64, bool) {
	var b [5]byte
	if !t.img.read(ret-5, b[:]) || b[0] != 0xe8 { // call rel32
		return 0, false
	}
	in, ok := decode(b[:])
	return ret + uint64(in.Imm), ok
}

// After the system call in runtime.clone a new thread has 0 in rax and no caller.

func (t *rules) afterSyscall(f *funcInfo, pc uint64) (after bool) {
	walkX86(f.entry, t.funcs.codeOf(f), func(in *insn, next uint64) bool {
		after = after || in.Map == 1 && in.Op == 0x05 // syscall
		return next < pc
	})
	return after
}

func createdX86(cfa int32) (frames.Rule, *frames.Row, bool) {
	row := &frames.Row{CFAReg: frames.X86RSP, CFAOff: int64(cfa)}
	row.RA = frames.RegRule{Kind: frames.RuleValExpr, Expr: parentOnly{}}
	return frames.Rule{CFAReg: frames.X86RSP, CFAOff: cfa, Method: frames.MethodCFI}, row, true
}

// parentOnly is the return address, and 0 (outermost) in the new thread.
type parentOnly struct{}

// Eval implements [frames.Expr].
func (parentOnly) Eval(regs *frames.Regs, mem frames.Memory, cfa uint64) (uint64, bool) {
	if ax, ok := regs.Get(frames.X86RAX); !ok || ax == 0 {
		return 0, ok
	}
	return mem.Word(cfa - 8)
}
