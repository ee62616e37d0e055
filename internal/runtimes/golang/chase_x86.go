// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/x86"
)

// walkX86 calls f with each instruction and the address after it, until f is false or an instruction is unknown.
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

// load reports whether in is a mov reg, [base+disp] of 64 bits.
func (in *insn) load() bool {
	return in.Map == 0 && in.Op == 0x8b && in.Mod != 3 && in.W && in.Base != x86.NoReg && !in.indexed() && !in.segment()
}

// chaseX86 decodes runtime.systemstack: it loads g and g.m, compares with m.gsignal, m.g0 and m.curg, saves g.sched (by
// a call since Go 1.17), and loads g0.sched.sp (through another register before Go 1.21).
func (t *chases) chaseX86() (Chase, bool) {
	c := Chase{GReg: 14, GStackHi: 8, MG0: -1}
	pc, code := t.asmCode("runtime.systemstack")
	d := systemstackX86{c: &c}
	walkX86(pc, code, d.step)
	if !d.done {
		return c, false
	}
	if d.saves.found == savedAll {
		return c, d.sp == c.SchedSP
	}
	f, ok := t.find(d.save)
	if !ok || f.end-f.entry > maxFlowBytes {
		return c, false
	}
	code = make([]byte, f.end-f.entry)
	s := savesX86{c: &c}
	if !t.img.read(f.entry, code) {
		return c, false
	}
	walkX86(f.entry, code, s.step)
	return c, s.found == savedAll && d.sp == c.SchedSP
}

// systemstackX86 matches the instructions of runtime.systemstack in their order.
type systemstackX86 struct {
	c                *Chase
	tlsReg           int // holds g's offset, if haveTLS
	g, m, g0         uint8
	haveTLS, haveG   bool
	haveM, haveG0    bool
	haveSig, haveCur bool
	save             uint64   // call that saves g.sched
	saves            savesX86 // instructions that save it
	loaded           bool
	spReg            uint8
	sp               int64
	done             bool
}

func (d *systemstackX86) step(in *insn, next uint64) bool {
	saved := d.save != 0 || d.saves.found == savedAll
	switch {
	case !d.haveG:
		d.findG(in, next)
	case !d.haveM && in.load() && in.Base == d.g:
		d.m, d.haveM, d.c.GM = in.Reg, true, int64(in.Disp)
	case d.haveM && in.Map == 0 && in.Op == 0x3b && in.Mod != 3 && in.Reg == d.g && in.Base == d.m: // cmp g, [m+disp]
		if !d.haveSig {
			d.haveSig, d.c.MGsignal = true, int64(in.Disp)
		} else {
			d.haveCur, d.c.MCurg = true, int64(in.Disp)
		}
	case d.haveSig && !d.haveG0 && in.load() && in.Base == d.m:
		d.g0, d.haveG0, d.c.MG0 = in.Reg, true, int64(in.Disp)
	case d.haveCur && !saved && in.Map == 0 && in.Op == 0xe8: // call
		d.save = next + uint64(in.Imm)
	case d.haveCur && !saved:
		d.saves.c = d.c
		d.saves.step(in, next)
	case saved && !d.loaded && in.load() && in.Base == d.g0:
		d.spReg, d.sp, d.loaded = in.Reg, int64(in.Disp), true
		d.done = in.Reg == regSP
	case d.loaded:
		d.done = in.movesToSP(d.spReg)
	}
	return !d.done
}

func (in *insn) movesToSP(reg uint8) bool {
	return in.Map == 0 && in.Mod == 3 && in.W &&
		(in.Op == 0x89 && in.RM == regSP && in.Reg == reg || in.Op == 0x8b && in.Reg == regSP && in.RM == reg)
}

// findG matches mov g, fs:[offset], or mov g, fs:[reg] after a load of reg from a constant or from a word that the
// dynamic loader sets.
func (d *systemstackX86) findG(in *insn, next uint64) {
	fs := in.Prefix&x86.PrefixFS != 0
	switch {
	case in.Map != 0 || !in.W:
	case in.Op == 0x8b && fs && in.Base == x86.NoReg && !in.RIPRel && !in.indexed():
		d.g, d.haveG, d.c.TLS, d.c.HasTLS = in.Reg, true, int64(in.Disp), true
	case in.Op == 0x8b && fs && d.haveTLS && in.Mod != 3 && in.Base == uint8(d.tlsReg):
		d.g, d.haveG = in.Reg, true
		d.c.HasTLS = d.c.TLSSlot == 0
	case in.Op == 0xc7 && in.Mod == 3: // mov reg, imm32
		d.tlsReg, d.haveTLS, d.c.TLS, d.c.TLSSlot = int(in.RM), true, in.Imm, 0
	case in.Op == 0x8b && in.RIPRel: // mov reg, [rip+disp]
		d.tlsReg, d.haveTLS, d.c.TLSSlot = int(in.Reg), true, next+uint64(int64(in.Disp))
	}
}

const (
	savedPC = 1 << iota
	savedSP
	savedBP
	savedAll = savedPC | savedSP | savedBP
)

// savesX86 matches the stores of pc (computed from rip), rsp and rbp to g.sched.
type savesX86 struct {
	c     *Chase
	found uint8
	value uint8 // savedPC or savedSP: what reg holds
	reg   uint8
}

func (s *savesX86) step(in *insn, _ uint64) bool {
	// mov [base+disp], reg
	stores := in.Map == 0 && in.Op == 0x89 && in.Mod != 3 && in.W && in.Base != regSP && !in.segment()
	switch {
	case in.Map == 0 && in.Op == 0x8d && in.RIPRel: // lea reg, [rip+disp]
		s.value, s.reg = savedPC, in.Reg
	case in.Map == 0 && in.Op == 0x8d && in.Base == regSP: // lea reg, [rsp+disp]
		s.value, s.reg = savedSP, in.Reg
	case stores && in.Reg == regBP:
		s.c.SchedBP, s.found = int64(in.Disp), s.found|savedBP
	case stores && in.Reg == regSP:
		s.c.SchedSP, s.found = int64(in.Disp), s.found|savedSP
	case stores && in.Reg == s.reg && s.value == savedPC:
		s.c.SchedPC, s.found, s.value = int64(in.Disp), s.found|savedPC, 0
	case stores && in.Reg == s.reg && s.value == savedSP:
		s.c.SchedSP, s.found, s.value = int64(in.Disp), s.found|savedSP, 0
	}
	return s.found != savedAll
}

// cgoCallX86 returns the rule of asmcgocall while C code runs. On C's stack asmcgocall has saved g and the depth of its
// stack, which holds even if a callback moves that; or, called on a system stack, 0 and the old stack pointer. Until Go
// 1.20 it has no frame.
func (t rulesX86) cgoCallX86(f *fn, pc uint64, st *state) (frames.Rule, *frames.Row, bool) {
	g, depth, ok := t.flow(f).cgoWords(pc - f.entry)
	if !ok || st.bp != bpSame && (st.bp != bpFrame || st.saved[frames.X86RBP] == 0) {
		return t.refuse()
	}
	row := t.row(rowKey{kind: kindCgoCall, delta: st.bpOff, pc: pc}, func() *frames.Row {
		e := cgoCFA{frame: 8, g: g, depth: depth, sp: frames.X86RSP, fp: frames.X86RBP}
		row := &frames.Row{RA: frames.RegRule{Kind: frames.RuleOffset, Off: -8}}
		row.Regs[frames.X86RBP].Kind = frames.RuleSame
		if st.bp == bpFrame {
			e.frame, e.fpOff = st.bpOff, st.bpOff
			row.Regs[frames.X86RBP] = frames.RegRule{Kind: frames.RuleOffset, Off: -int64(st.saved[frames.X86RBP])}
		}
		row.CFAExpr = e
		return row
	})
	return frames.Rule{Flags: frames.FlagSwitch, Method: frames.MethodCFI}, row, true
}

// cgoWords returns the offsets from rsp of these two words, stored before the call at off.
func (fl *flow) cgoWords(off uint64) (g, depth int64, ok bool) {
	call, found := slices.BinarySearch(fl.offs, uint32(off))
	if !found {
		call--
	}
	n := 0
	for i := call - 1; i >= 0 && n < 2; i-- {
		in := &fl.insns[i]
		if in.Map != 0 || !in.W || in.Mod == 3 || in.Base != regSP || in.indexed() {
			if through, target := in.flow(); !through || target {
				return 0, 0, false
			}
			continue
		}
		switch {
		case in.Op != 0x89 && in.Op != 0xc7: // not a mov to memory
		case n == 0:
			depth, n = int64(in.Disp), 1
		default:
			g, n = int64(in.Disp), 2
		}
	}
	return g, depth, n == 2
}

// schedX86 returns the rule of morestack (caller's registers in curg.sched) and until Go 1.20 of systemstack (return
// address at curg.sched.sp).
func (t rulesX86) schedX86(q frames.Query, k kind) (frames.Rule, *frames.Row, bool) {
	c, ok := t.chases.Chase()
	if !ok {
		return t.refuse()
	}
	row := t.row(rowKey{kind: k, pc: q.PC}, func() *frames.Row {
		e := func(off int64) schedExpr { return schedExpr{t: t.rules, pc: q.PC, c: c, off: off, leftBy: k} }
		row := &frames.Row{CFAExpr: e(c.SchedSP), RA: frames.RegRule{Kind: frames.RuleValExpr, Expr: e(c.SchedPC)}}
		if k == kindSystemStack {
			sp := e(c.SchedSP)
			sp.add = 8
			row.CFAExpr, row.RA = sp, frames.RegRule{Kind: frames.RuleOffset, Off: -8}
		}
		row.Regs[frames.X86RBP] = frames.RegRule{Kind: frames.RuleValExpr, Expr: e(c.SchedBP)}
		return row
	})
	return frames.Rule{Flags: frames.FlagSwitch, Method: frames.MethodCFI}, row, true
}

// callBeforeX86 returns the target of the direct call that ends at ret.
func (t rulesX86) callBeforeX86(ret uint64) (uint64, bool) {
	var b [5]byte
	if !t.img.read(ret-5, b[:]) || b[0] != 0xe8 { // call rel32
		return 0, false
	}
	in, ok := decode(b[:])
	return ret + uint64(in.Imm), ok
}
