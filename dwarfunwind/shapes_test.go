// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"testing"

	"prywalk/frames"
)

// The program of .plt as linkers write it: the CFA is 8 further from rsp from byte 11 of each 16 on.
var pltProgram = []byte{cfaDefCFAExpression, 11, opBreg0 + 7, 8, opBreg0 + 16, 0, opLit0 + 15, opAnd,
	opLit0 + 11, opGe, opLit0 + 3, opShl, opPlus}

func TestCFAOfAPLTDependsOnThePlaceInItsEntry(t *testing.T) {
	const bias, sp = 0x7f0000000000, 0x7ff0000
	table := newBuilder().addCIE().addFDE(testStart, testLen, pltProgram...).table(t, frames.X86_64)
	for off := range uint64(64) {
		want := uint64(sp + 8)
		if off%16 >= 11 {
			want = sp + 16
		}
		_, row, ok := table.Rule(frames.Query{PC: testStart + off})
		if !ok || row == nil || row.CFAExpr == nil {
			t.Fatalf("offset %d: row %+v, %v; want an expression", off, row, ok)
		}
		regs := frames.Regs{Arch: frames.X86_64, PC: bias + testStart + off}
		regs.Set(frames.X86RSP, sp)
		if cfa, ok := row.CFAExpr.Eval(&regs, nil, 0); !ok || cfa != want {
			t.Errorf("offset %d: CFA %#x, %v, want %#x", off, cfa, ok, want)
		}
	}
}

// glibc's __restore_rt describes the ucontext by expressions.
func TestRealSignalFrameNeedsNoEvaluator(t *testing.T) {
	table := openTable(t, libcPath)
	for e := range table.FDEs() {
		if !e.Signal {
			continue
		}
		rule, row, ok := table.Rule(frames.Query{PC: e.Start + 1})
		if !ok || row == nil || rule.Flags&frames.FlagExactPC == 0 {
			t.Fatalf("%#x: rule %+v, %v; want a signal frame", e.Start, rule, ok)
		}
		if !row.CFADeref || row.CFAReg != frames.X86RSP || row.CFAExpr != nil {
			t.Errorf("CFA %+v, want a word relative to rsp", row)
		}
		for _, p := range append(row.Regs[:16:16], row.RA) {
			if p.Kind != frames.RuleRegOffset || p.Reg != frames.X86RSP || p.Off < 40 || p.Off > 168 {
				t.Errorf("register at %+v, want rsp+40 to rsp+168", p)
			}
		}
		return
	}
	t.Error("libc has no signal trampoline")
}

func TestMostRealRulesAreCompact(t *testing.T) {
	for _, path := range []string{libcPath, cxxPath, nodePath} {
		table := openTable(t, path)
		all, full, failed := 0, 0, 0
		for e := range table.FDEs() {
			_, row, ok := table.Rule(frames.Query{PC: e.Start + (e.End-e.Start)/2})
			all++
			if !ok {
				failed++
			}
			if row != nil {
				full++
			}
		}
		if failed > 0 || full*100 > all {
			t.Errorf("%s: of %d rules %d need a row, %d are missing; want at most 1 %%, none missing", path, all, full, failed)
		}
	}
}

func TestCompactLookupsDoNotAllocate(t *testing.T) {
	table := openTable(t, libcPath)
	var pcs []uint64
	for e := range table.FDEs() {
		if _, row, ok := table.Rule(frames.Query{PC: e.Start}); ok && row == nil {
			pcs = append(pcs, e.Start)
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		for _, pc := range pcs {
			table.Rule(frames.Query{PC: pc + 1, AfterCall: true})
			table.Rule(frames.Query{PC: pc})
		}
	}); n > 0 {
		t.Errorf("%v allocations in %d lookups, want 0", n, 2*len(pcs))
	}
}
