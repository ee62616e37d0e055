// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/internal/x86"

// gOffsetsX86 decodes runtime.systemstack: it loads g and g.m, compares with m.gsignal, m.g0 and m.curg, saves g.sched
// (by a call since Go 1.17), and loads g0.sched.sp (through another register before Go 1.21).
func (t *gOffsetsDecoder) gOffsetsX86() (GOffsets, bool) {
	c := GOffsets{GReg: 14, GStackHi: 8, MG0: -1}
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
	c                *GOffsets
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

// findG matches mov g, fs:[offset], or mov g, fs:[reg] with reg loaded from a constant or from a word of the dynamic
// loader.
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
	c     *GOffsets
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
