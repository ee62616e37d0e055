// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"bytes"
	"testing"

	"prywalk/frames"
)

type words map[uint64]uint64

// Word implements frames.Memory.
func (w words) Word(a uint64) (uint64, bool) { v, ok := w[a]; return v, ok }

// Cut implements frames.Memory.
func (words) Cut(uint64) bool { return false }

// Also while a signal handler runs, and only if systemstack saved curg.sched.
func TestSystemstackUntilGo120LeadsToTheSavedStackPointer(t *testing.T) {
	for _, v := range older(t) {
		tab, _ := open(t, build(t, v.src, v.env, v.args...))
		c, ok := tab.GOffsets()
		entry, code := tab.asmCode("runtime.systemstack")
		call, size := []byte{0xff, 0xd7}, uint64(8) // call rdi
		if tab.img.Arch == frames.ARM64 {
			call, size = []byte{0x60, 0x00, 0x3f, 0xd6}, 16 // blr x3
		}
		at := bytes.LastIndex(code, call)
		if !ok || at < 0 {
			t.Fatalf("%s: chase %v, call at %d", v.name, ok, at)
		}
		pc := entry + uint64(at+len(call))
		r, row, ok := tab.Rule(frames.Query{PC: pc, AfterCall: true})
		if !ok || row == nil || row.CFAExpr == nil || r.Flags&frames.FlagStackSwitch == 0 {
			t.Fatalf("%s: %+v, %+v, %v", v.name, r, row, ok)
		}
		const m, g0, gsignal, curg, tls = 0x2000, 0x3000, 0x4000, 0x5000, 0x9000
		regs := frames.Regs{Arch: tab.img.Arch, PC: pc, TLS: tls}
		mem := words{
			g0 + uint64(c.GM): m, gsignal + uint64(c.GM): m,
			m + uint64(c.MG0): g0, m + uint64(c.MGsignal): gsignal, m + uint64(c.MCurg): curg,
			curg + uint64(c.SchedSP): 0x7000, curg + uint64(c.SchedPC): tab.funcByName("runtime.systemstack_switch")[0],
		}
		for _, g := range []uint64{g0, gsignal} {
			mem[tls+uint64(c.TLS)] = g
			regs.Set(c.GReg, g)
			if cfa, ok := row.CFAExpr.Eval(&regs, mem, 0); !ok || cfa != 0x7000+size {
				t.Errorf("%s, g %#x: CFA %#x, %v", v.name, g, cfa, ok)
			}
		}
		mem[curg+uint64(c.SchedPC)] = entry
		if cfa, ok := row.CFAExpr.Eval(&regs, mem, 0); ok {
			t.Errorf("%s: CFA %#x from what systemstack has not saved", v.name, cfa)
		}
	}
}
