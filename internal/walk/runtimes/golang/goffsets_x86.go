// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/internal/code/x86"

// gOffsetsX86 decodes runtime.systemstack: it loads g and g.m, compares with m.gsignal, m.g0 and m.curg, saves g.sched
// by a call, and loads g0.sched.sp (through another register before Go 1.21).
func (t *gOffsetsDecoder) gOffsetsX86() (GOffsets, bool) {
	c := GOffsets{GReg: 14, GStackHi: 8, MG0: -1}
	pc, code := t.funcs.asmCode("runtime.systemstack")
	d := systemstackX86{c: &c}
	walkX86(pc, code, d.step)
	if d.stage != foundAll {
		return c, false
	}
	f, _ := t.funcs.find(d.save)
	s := savesX86{c: &c}
	walkX86(f.entry, t.funcs.codeOf(&f), s.step)
	return c, s.found == savedAll && d.schedSPAt == c.SchedSP
}

type systemstackStage uint8

const (
	loadOfG systemstackStage = iota
	loadOfM
	compareGsignal // with m.gsignal
	compareCurg    // with m.curg
	saveOfSched    // a call
	loadOfSchedSP  // from g0
	moveOfSchedSP  // to rsp
	foundAll
)

type systemstackX86 struct {
	c         *GOffsets
	stage     systemstackStage
	haveTLS   bool
	tlsReg    uint8 // of g's offset
	g, m      uint8
	haveG0    bool
	g0        uint8
	save      uint64
	schedSP   uint8
	schedSPAt int64
}

func (s *systemstackX86) step(in *insn, next uint64) bool {
	switch {
	case s.stage == loadOfG:
		s.findG(in, next)
	case s.stage == loadOfM:
		if in.load() && in.Base == s.g {
			s.m, s.c.GM, s.stage = in.Reg, int64(in.Disp), compareGsignal
		}
	case s.comparesG(in) && s.stage == compareGsignal:
		s.c.MGsignal, s.stage = int64(in.Disp), compareCurg
	case s.comparesG(in):
		s.c.MCurg, s.stage = int64(in.Disp), max(s.stage, saveOfSched)
	case s.stage >= compareCurg && !s.haveG0 && in.load() && in.Base == s.m:
		s.g0, s.haveG0, s.c.MG0 = in.Reg, true, int64(in.Disp)
	case s.stage == saveOfSched && in.Map == 0 && in.Op == opCall:
		s.save, s.stage = next+uint64(in.Imm), loadOfSchedSP
	case s.stage == loadOfSchedSP && in.load() && in.Base == s.g0:
		s.schedSP, s.schedSPAt, s.stage = in.Reg, int64(in.Disp), moveOfSchedSP
		if in.Reg == regSP {
			s.stage = foundAll
		}
	case s.stage == moveOfSchedSP && in.movesToSP(s.schedSP):
		s.stage = foundAll
	}
	return s.stage != foundAll
}

// comparesG matches cmp g, [m+disp].
func (s *systemstackX86) comparesG(in *insn) bool {
	return in.Map == 0 && in.Op == 0x3b && in.Mod != 3 && in.Reg == s.g && in.Base == s.m
}

// findG matches mov g, fs:[offset], or mov g, fs:[reg] with reg from a constant or the dynamic loader's word.
func (s *systemstackX86) findG(in *insn, next uint64) {
	fs := in.Prefix&x86.PrefixFS != 0
	switch {
	case in.Map != 0 || !in.W:
	case in.Op == 0x8b && fs && in.Base == x86.NoReg && !in.RIPRel && !in.indexed():
		s.g, s.c.TLS, s.c.HasTLS, s.stage = in.Reg, int64(in.Disp), true, loadOfM
	case in.Op == 0x8b && fs && s.haveTLS && in.Mod != 3 && in.Base == s.tlsReg:
		s.g, s.stage = in.Reg, loadOfM
		s.c.HasTLS = s.c.TLSSlot == 0
	case in.Op == 0xc7 && in.Mod == 3: // mov reg, imm32
		s.tlsReg, s.haveTLS, s.c.TLS, s.c.TLSSlot = in.RM, true, in.Imm, 0
	case in.Op == 0x8b && in.RIPRel: // mov reg, [rip+disp]
		s.tlsReg, s.haveTLS, s.c.TLSSlot = in.Reg, true, next+uint64(int64(in.Disp))
	}
}

const (
	savedPC = 1 << iota
	savedSP
	savedBP
	savedAll = savedPC | savedSP | savedBP
)

// savesX86 matches the stores of pc, rsp and rbp to g.sched.
type savesX86 struct {
	c     *GOffsets
	found uint8
	value uint8 // of reg
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
	case stores && in.Reg == s.reg && s.value == savedPC:
		s.c.SchedPC, s.found, s.value = int64(in.Disp), s.found|savedPC, 0
	case stores && in.Reg == s.reg && s.value == savedSP:
		s.c.SchedSP, s.found, s.value = int64(in.Disp), s.found|savedSP, 0
	}
	return s.found != savedAll
}
