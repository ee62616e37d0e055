// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"testing"

	"prywalk/frames"
)

func probe(t *testing.T, table *Table, pcs ...uint64) {
	var w frames.Walker
	space := frames.NewSpace(table.arch)
	space.SetModules([]*frames.Module{{End: 1 << 63, Sources: []frames.RuleSource{table}}})
	for _, pc := range pcs {
		table.Rule(frames.Query{PC: pc})
		table.FuncRange(pc)
		regs := testRegs()
		regs.Arch, regs.PC = table.arch, pc
		w.Init(space, regs, bigMemory{})
		for range 4 {
			w.Next()
		}
	}
	n := 0
	for e := range table.FDEs() {
		if n++; n > 50 {
			break
		}
		table.Rule(frames.Query{PC: e.End, AfterCall: true})
		for range table.Rows(e) {
			if n++; n > 200 {
				break
			}
		}
	}
}

func FuzzProgram(f *testing.F) {
	for _, c := range programs {
		f.Add(c.prog, c.at, false)
	}
	f.Add(pltProgram, uint64(11), false)
	f.Add([]byte{cfaARM64NegateRA, cfaDefCFAExpression, 3, opSkip, 0xfd, 0xff}, uint64(0), true)
	f.Fuzz(func(t *testing.T, prog []byte, at uint64, arm bool) {
		arch := frames.X86_64
		if arm {
			arch = frames.ARM64
		}
		probe(t, newBuilder().addCIE().addFDE(testStart, testLen, prog...).table(t, arch), testStart+at%testLen)
	})
}

func FuzzSections(f *testing.F) {
	for _, aug := range []string{"", "zR", "zPLR", "zRS"} {
		b := newBuilder()
		b.aug, b.augData = aug, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		b.addCIE().addFDE(testStart, testLen, cfaDefCFAOffset, 48, cfaAdvanceLoc|9)
		f.Add([]byte{1, 0x1b, 3, 0x3b, 0, 0x10, 0, 0, 1, 0, 0, 0, 0, 0xd0, 0xff, 0xff, 0x10, 0, 0, 0}, b.out, false)
		f.Add([]byte{1, 0x1b, 3, 0xff}, b.out, true)
	}
	wide := newBuilder()
	wide.debug, wide.wide = true, true
	f.Add([]byte{}, wide.addCIE().addFDE(testStart, testLen).out, true)
	f.Fuzz(func(t *testing.T, hdr, frame []byte, debug bool) {
		cfg := Config{Arch: frames.X86_64, EhFrameHdr: NewSection(0x4000, hdr), EhFrame: NewSection(0x5000, frame)}
		if debug {
			cfg.DebugFrame = NewSection(0, frame)
		}
		table, err := New(cfg)
		if err != nil {
			return
		}
		probe(t, table, testStart, testStart+9, 0, ^uint64(0), 0x5010)
	})
}

func FuzzExpression(f *testing.F) {
	f.Add(pltProgram[2:], uint64(0), false)
	f.Add([]byte{opPlusUconst, 8}, uint64(8), true)
	f.Add([]byte{opPlusUconst, 8}, uint64(8), false)
	f.Add([]byte{opSkip, 0xfd, 0xff}, uint64(0), true)
	f.Fuzz(func(t *testing.T, code []byte, cfa uint64, pushCFA bool) {
		table := newBuilder().addCIE().table(t, frames.X86_64)
		s, ok := table.linearExprOf(code)
		v, evalOK := (&expr{code: code, pc: 0x1008, pcColumn: 16, pushCFA: pushCFA}).Eval(testRegs(), bigMemory{}, cfa)
		if want := s.value(testRegs()); ok && evalOK && v != want {
			t.Errorf("%x: %#x, recognised as %+v = %#x", code, v, s, want)
		}
	})
}
