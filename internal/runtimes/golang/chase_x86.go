package golang

import (
	"prywalk/frames"
	"prywalk/internal/x86"
)

// walkX86 calls f for each instruction of code, with the address after it, until
// f returns false.
func walkX86(pc uint64, code []byte, f func(in *insn, next uint64) bool) {
	for len(code) > 0 {
		in, ok := decode(code)
		if !ok {
			return
		}
		code, pc = code[in.Size:], pc+uint64(in.Size)
		if !f(&in, pc) {
			return
		}
	}
}

// load reports whether in is mov reg, [base+disp].
func (in *insn) load() bool {
	return in.Map == 0 && in.Op == 0x8b && in.Mod != 3 && in.W && in.Base != x86.NoReg && !in.indexed() && !in.segment()
}

// chaseX86 decodes runtime.systemstack, which loads g from thread-local storage,
// then g.m, compares g with m.gsignal, m.g0 and m.curg, calls what saves
// g.sched, and loads g0.sched.sp.
func (t *Table) chaseX86() (Chase, bool) {
	c := Chase{GReg: 14, GStackHi: 8, MG0: -1}
	pc, code := t.asm("runtime.systemstack")
	d := systemstackX86{c: &c}
	walkX86(pc, code, d.step)
	if !d.done {
		return c, false
	}
	f, ok := t.find(d.save)
	if !ok || f.end-f.entry > maxFlowBytes {
		return c, false
	}
	code = make([]byte, f.end-f.entry)
	sp := c.SchedSP
	if !t.img.read(f.entry, code) || !c.saves(f.entry, code) {
		return c, false
	}
	return c, sp == c.SchedSP
}

// systemstackX86 is where the decoding of systemstack has got to.
type systemstackX86 struct {
	c                *Chase
	tlsReg           int // register with the offset of g, −1 if none
	g, m, g0         uint8
	haveTLS, haveG   bool
	haveM, haveG0    bool
	haveSig, haveCur bool
	save             uint64 // what is called to save g.sched
	done             bool
}

// step looks at one instruction.
func (d *systemstackX86) step(in *insn, next uint64) bool {
	switch {
	case !d.haveG:
		d.findG(in, next)
	case !d.haveM && in.load() && in.Base == d.g:
		d.m, d.haveM, d.c.GM = in.Reg, true, int64(in.Disp)
	case d.haveM && in.Map == 0 && in.Op == 0x3b && in.Mod != 3 && in.Reg == d.g && in.Base == d.m:
		if !d.haveSig {
			d.haveSig, d.c.MGsignal = true, int64(in.Disp)
		} else {
			d.haveCur, d.c.MCurg = true, int64(in.Disp)
		}
	case d.haveSig && !d.haveG0 && in.load() && in.Base == d.m:
		d.g0, d.haveG0, d.c.MG0 = in.Reg, true, int64(in.Disp)
	case d.haveCur && d.save == 0 && in.Map == 0 && in.Op == 0xe8:
		d.save = next + uint64(in.Imm)
	case d.save != 0 && in.load() && in.Reg == mSP && in.Base == d.g0:
		d.c.SchedSP, d.done = int64(in.Disp), true
		return false
	}
	return true
}

// findG recognises mov g, fs:[offset] in its forms. The offset is in the instruction, or in a register that was
// loaded with it or from a word that the dynamic loader fills in.
func (d *systemstackX86) findG(in *insn, next uint64) {
	fs := in.Prefix&x86.PrefixFS != 0
	switch {
	case in.Map != 0 || !in.W:
	case in.Op == 0x8b && fs && in.Base == x86.NoReg && !in.RIPRel && !in.indexed():
		d.g, d.haveG, d.c.TLS, d.c.HasTLS = in.Reg, true, int64(in.Disp), true
	case in.Op == 0x8b && fs && d.haveTLS && in.Mod != 3 && in.Base == uint8(d.tlsReg):
		d.g, d.haveG = in.Reg, true
		d.c.HasTLS = d.c.TLSSlot == 0
	case in.Op == 0xc7 && in.Mod == 3:
		d.tlsReg, d.haveTLS, d.c.TLS, d.c.TLSSlot = int(in.RM), true, in.Imm, 0
	case in.Op == 0x8b && in.RIPRel:
		d.tlsReg, d.haveTLS, d.c.TLSSlot = int(in.Reg), true, next+uint64(int64(in.Disp))
	}
}

// saves decodes gosave_systemstack_switch: it stores a pc that it computes from
// rip, the caller's rsp, and rbp.
func (c *Chase) saves(pc uint64, code []byte) bool {
	const none, fromPC, fromSP = 0, 1, 2
	var what uint8
	var reg uint8
	found := 0
	walkX86(pc, code, func(in *insn, _ uint64) bool {
		switch {
		case in.Map != 0:
		case in.Op == 0x8d && in.RIPRel:
			what, reg = fromPC, in.Reg
		case in.Op == 0x8d && in.Base == mSP:
			what, reg = fromSP, in.Reg
		case in.Op == 0x89 && in.Mod != 3 && in.Reg == mBP && in.Base != mSP:
			c.SchedBP = int64(in.Disp)
			found |= 4
		case in.Op == 0x89 && in.Mod != 3 && what != none && in.Reg == reg && what == fromPC:
			c.SchedPC, what = int64(in.Disp), none
			found |= 1
		case in.Op == 0x89 && in.Mod != 3 && what != none && in.Reg == reg:
			c.SchedSP, what = int64(in.Disp), none
			found |= 2
		}
		return found != 7
	})
	return found == 7
}

// cgoCallX86 gives the rule of asmcgocall while C code runs. On the stack that it changed to lie the depth of the
// goroutine's stack and g, or, where it was on such a stack already, that stack's pointer and 0. The depth is right
// even when a call back into Go has moved the goroutine's stack, which rbp, saved by C code, is not.
func (t *Table) cgoCallX86(st *state) (frames.Rule, *frames.Row, bool) {
	off := st.bpOff
	if st.bp != bpFrame {
		return t.refuse()
	}
	row := t.row(rowKey{kind: kindCgoCall, delta: off}, func() *frames.Row {
		row := &frames.Row{CFAExpr: cgoCFA{frame: off, g: 8, depth: 0, sp: frames.X86RSP, fp: frames.X86RBP, fpOff: off}}
		row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -8}
		row.Regs[frames.X86RBP] = frames.RegRule{Kind: frames.RuleOffset, Off: -int64(st.saved[frames.X86RBP])}
		return row
	})
	if st.saved[frames.X86RBP] == 0 {
		return t.refuse()
	}
	return frames.Rule{Flags: frames.FlagSwitch, Method: frames.MethodCFI}, row, true
}

// morestackX86 gives the rule of morestack on the scheduler's stack.
func (t *Table) morestackX86(q frames.Query) (frames.Rule, *frames.Row, bool) {
	c, ok := t.Chase()
	if !ok {
		return t.refuse()
	}
	row := t.row(rowKey{kind: kindMorestack, pc: q.PC}, func() *frames.Row {
		e := func(off int64) schedExpr { return schedExpr{t: t, pc: q.PC, c: c, off: off} }
		row := &frames.Row{CFAExpr: e(c.SchedSP), RA: frames.RegRule{Kind: frames.RuleValExpr, Expr: e(c.SchedPC)}}
		row.Regs[frames.X86RBP] = frames.RegRule{Kind: frames.RuleValExpr, Expr: e(c.SchedBP)}
		return row
	})
	return frames.Rule{Flags: frames.FlagSwitch, Method: frames.MethodCFI}, row, true
}

// callBeforeX86 gives the target of the direct call that ends at ret.
func (t *Table) callBeforeX86(ret uint64) (uint64, bool) {
	var b [5]byte
	if !t.img.read(ret-5, b[:]) || b[0] != 0xe8 {
		return 0, false
	}
	in, ok := decode(b[:])
	return ret + uint64(in.Imm), ok
}
