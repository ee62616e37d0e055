// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"slices"
	"testing"

	"prywalk/frames"
)

// The program of .plt as linkers write it: the CFA is 8 further from rsp from byte 11 of each 16 on.
var pltProgram = []byte{cfaDefCFAExpression, 11, opBreg0 + 7, 8, opBreg0 + 16, 0, opLit0 + 15, opAnd,
	opLit0 + 11, opGe, opLit0 + 3, opShl, opPlus}

func TestPLTExpressionBecomesACompactRule(t *testing.T) {
	table := newBuilder().addCIE().addFDE(testStart, testLen, pltProgram...).table(t, frames.X86_64)
	for off := range uint64(64) {
		want := int32(8)
		if off%16 >= 11 {
			want = 16
		}
		rule, row, ok := table.Rule(frames.Query{PC: testStart + off})
		if !ok || row != nil || rule.CFAReg != frames.X86RSP || rule.CFAOff != want {
			t.Fatalf("offset %d: rule %+v, %v, %v; want a compact one", off, rule, row, ok)
		}
	}
}

// The value depends on the load bias, except for its low four bits here.
func TestExpressionsUnlikeThatOfAPLTAreKept(t *testing.T) {
	const expr, after = 2, 8 // offsets in pltProgram
	for i := expr; i < len(pltProgram); i++ {
		prog := slices.Clone(pltProgram)
		if prog[i]++; i == after {
			prog[i] = opLit0 + 16 // beyond the mask
		}
		table := newBuilder().addCIE().addFDE(testStart, testLen, prog...).table(t, frames.X86_64)
		if _, row, ok := table.Rule(frames.Query{PC: testStart}); !ok || row == nil || row.CFAExpr == nil {
			t.Errorf("byte %d is %#x: row %+v, want an expression", i-expr, prog[i], row)
		}
	}
}

func TestRealPLTRulesAreCompact(t *testing.T) {
	table := openTable(t, libcPath)
	for e := range table.FDEs() {
		for loc := range table.Rows(e) {
			if table.machine.cfaExpr == noExpr || e.Signal {
				continue
			}
			if rule, row, ok := table.Rule(frames.Query{PC: loc}); !ok || row != nil || rule.CFAReg != frames.X86RSP {
				t.Errorf("%#x: rule %+v, %v, %v; want a compact one", loc, rule, row, ok)
			}
			return
		}
	}
	t.Error("libc has no such expression")
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
