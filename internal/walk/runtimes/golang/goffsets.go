// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/frames"

// GOffsets leads from a thread to its goroutine's stack: g, g.m, m.curg, curg.sched.
type GOffsets struct {
	// TLS is the offset of g's word from the thread pointer, if HasTLS (amd64: usually −8).
	TLS    int64
	HasTLS bool
	// TLSSlot is the file address of a word with TLS, or 0.
	TLSSlot uint64
	// GReg is the register of g in Go code (DWARF): r14 on amd64, x28 on arm64.
	GReg uint8
	// GStackLo to SchedLR are offsets in g (runtime2.go). SchedLR is 0 on amd64.
	GStackLo, GStackHi, GM             int64
	SchedSP, SchedPC, SchedBP, SchedLR int64
	// MG0, MGsignal and MCurg are offsets in m.
	MG0, MGsignal, MCurg int64
}

type gOffsetsDecoder struct {
	funcs    *funcs
	offsets  GOffsets
	ok, done bool
}

// GOffsets decodes runtime.systemstack and the saving of g.sched.
func (t *gOffsetsDecoder) GOffsets() (GOffsets, bool) {
	if !t.done {
		t.done = true
		if t.funcs.img.Arch == frames.ARM64 {
			t.offsets, t.ok = t.gOffsetsARM64()
		} else {
			t.offsets, t.ok = t.gOffsetsX86()
		}
		t.ok = t.ok && t.offsets.plausible()
	}
	return t.offsets, t.ok
}

// Prepare implements [managed.FileTable].
func (t *gOffsetsDecoder) Prepare() { t.GOffsets() }

func (o *GOffsets) plausible() bool {
	return o.MG0 == 0 && o.GM >= 0x28 && o.GM <= 0x40 && o.SchedSP > o.GM && o.SchedSP <= 0x60 &&
		o.SchedPC == o.SchedSP+8 && o.SchedBP > o.SchedPC && o.SchedBP <= o.SchedSP+0x40 &&
		(o.SchedLR == 0 || o.SchedLR > o.SchedPC && o.SchedLR <= o.SchedSP+0x40) &&
		o.MCurg > 0x40 && o.MCurg < 0x400 && o.MGsignal > 0x20 && o.MGsignal < o.MCurg
}

// asmCode returns the address and the code of an assembly function that deviates from pcsp.
func (t *funcs) asmCode(name string) (uint64, []byte) {
	for _, pc := range t.funcByName(name) {
		f, _ := t.find(pc)
		if k, spWrite := t.kind(&f); k == kindPlain && !spWrite {
			continue
		}
		if code := t.codeOf(&f); len(code) > 0 {
			return pc, code
		}
	}
	return 0, nil
}

// curg returns m.curg, 0 without goroutine; false if g is unknown.
func (o *GOffsets) curg(regs *frames.Regs, mem frames.Memory) (uint64, bool) {
	for _, g := range o.candidates(regs, mem) {
		if g == 0 || g == noGoroutine {
			continue
		}
		m, ok := mem.Word(g + uint64(o.GM))
		if !ok {
			continue
		}
		g0, ok := mem.Word(m + uint64(o.MG0))
		curg, ok2 := mem.Word(m + uint64(o.MCurg))
		if !ok || !ok2 {
			continue
		}
		if g == g0 || g == curg { // curg while gogo changes stacks
			return curg, true
		}
		if gsignal, ok := mem.Word(m + uint64(o.MGsignal)); ok && g == gsignal {
			return curg, true
		}
	}
	g, known := regs.Get(o.GReg)
	return 0, known && g == noGoroutine
}

func (o *GOffsets) candidates(regs *frames.Regs, mem frames.Memory) (out [2]uint64) {
	if o.HasTLS && regs.TLS != 0 {
		out[0], _ = mem.Word(regs.TLS + uint64(o.TLS))
	}
	out[1], _ = regs.Get(o.GReg)
	return out
}
