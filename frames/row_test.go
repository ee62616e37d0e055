// SPDX-License-Identifier: Apache-2.0

package frames

import "testing"

func TestRowsThatDependOnTheFramePointer(t *testing.T) {
	for _, arch := range []Arch{X86_64, ARM64} {
		fp, sp := arch.FP(), arch.SP()
		row := Row{CFAReg: sp}
		row.Regs[fp] = RegRule{Kind: RuleRegOffset, Reg: fp}
		for _, c := range []struct {
			what   string
			change func(*Row)
			want   bool
		}{
			{"saved relative to itself", func(*Row) {}, true},
			{"the CFA, too", func(r *Row) { r.CFAReg = fp }, false},
			{"the CFA by an expression", func(r *Row) { r.CFAExpr = constant(1) }, false},
			{"saved relative to another", func(r *Row) { r.Regs[fp].Reg = sp }, false},
			{"saved relative to the CFA", func(r *Row) { r.Regs[fp].Kind = RuleOffset }, false},
		} {
			r := row
			c.change(&r)
			if got := r.ByFramePointer(arch); got != c.want {
				t.Errorf("%s: %s: %t, want %t", arch, c.what, got, c.want)
			}
		}
	}
}

type constant uint64

func (c constant) Eval(*Regs, Memory, uint64) (uint64, bool) { return uint64(c), true }

func TestRestoredRegistersAreNotReadFromTheirPlaces(t *testing.T) {
	byFP := RegRule{Kind: RuleRegOffset, Reg: X86RBP, Off: -8}
	byCFA := RegRule{Kind: RuleOffset, Off: -16}
	bySP := RegRule{Kind: RuleRegOffset, Reg: X86RSP}
	var row Row
	row.Regs[X86RBP], row.Regs[X86RBX], row.Regs[X86R12] = byFP, byFP, byFP
	row.Regs[X86R13], row.Regs[X86R14] = byCFA, bySP
	row.MarkRestored(X86_64, 1<<X86RBP|1<<X86RBX|1<<X86R13)
	var want [NumRegs]RegRule
	want[X86R12], want[X86R13], want[X86R14] = RegRule{Kind: RuleUndefined}, byCFA, bySP
	if row.Regs != want {
		t.Errorf("%+v, want %+v", row.Regs, want)
	}
}

func TestArchitecturesAreNamedAsInGo(t *testing.T) {
	for arch, want := range map[Arch]string{X86_64: "amd64", ARM64: "arm64", ArchUnknown: "unknown", 200: "unknown"} {
		if got := arch.String(); got != want {
			t.Errorf("%d: %s, want %s", arch, got, want)
		}
	}
	if (Arch(200)).SP() != ArchUnknown.SP() || X86_64.CallLen() != 1 || ARM64.CallLen() != 4 {
		t.Error("registers or calls of an unknown architecture")
	}
}
