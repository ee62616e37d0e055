// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"bytes"
	"testing"

	"prywalk/frames"
)

type place struct {
	reg  uint8
	want frames.RegRule
}

var programs = []struct {
	name   string
	prog   []byte
	at     uint64 // offset from the function's start
	cfaReg uint8
	cfaOff int64
	places []place
}{
	{"the CIE's row holds before the first advance", []byte{cfaAdvanceLoc | 4, cfaDefCFAOffset, 16}, 3, 7, 8, nil},
	{"an advance takes effect at its address", []byte{cfaAdvanceLoc | 4, cfaDefCFAOffset, 16}, 4, 7, 16, nil},
	{"advance_loc1", []byte{cfaAdvanceLoc1, 0x80, cfaDefCFAOffset, 16}, 0x80, 7, 16, nil},
	{"advance_loc2", []byte{cfaAdvanceLoc2, 0x80, 0, cfaDefCFAOffset, 16}, 0x80, 7, 16, nil},
	{"advance_loc4", []byte{cfaAdvanceLoc4, 0x80, 0, 0, 0, cfaDefCFAOffset, 16}, 0x80, 7, 16, nil},
	{"MIPS_advance_loc8", []byte{cfaMIPSAdvanceLoc8, 0x80, 0, 0, 0, 0, 0, 0, 0, cfaDefCFAOffset, 16}, 0x80, 7, 16, nil},
	{"set_loc", append(append([]byte{cfaSetLoc}, le(8, testStart+0x40)...), cfaDefCFAOffset, 16), 0x40, 7, 16, nil},
	{"def_cfa_register keeps the offset", []byte{cfaDefCFARegister, 6}, 0, 6, 8, nil},
	{"def_cfa_sf is factored", []byte{cfaDefCFASF, 6, 0x7e}, 0, 6, 16, nil},
	{"def_cfa_offset_sf is factored", []byte{cfaDefCFAOffsetSF, 0x7d}, 0, 7, 24, nil},
	{"offset_extended", []byte{cfaOffsetExtended, 6, 2}, 0, 7, 8,
		[]place{{6, frames.RegRule{Kind: frames.RuleOffset, Off: -16}}}},
	{"offset_extended_sf", []byte{cfaOffsetExtendedSF, 6, 0x7e}, 0, 7, 8,
		[]place{{6, frames.RegRule{Kind: frames.RuleOffset, Off: 16}}}},
	{"GNU_negative_offset_extended", []byte{cfaGNUNegativeOffset, 6, 2}, 0, 7, 8,
		[]place{{6, frames.RegRule{Kind: frames.RuleOffset, Off: 16}}}},
	{"val_offset", []byte{cfaValOffset, 3, 2}, 0, 7, 8,
		[]place{{3, frames.RegRule{Kind: frames.RuleValOffset, Off: -16}}}},
	{"val_offset_sf", []byte{cfaValOffsetSF, 3, 0x7e}, 0, 7, 8,
		[]place{{3, frames.RegRule{Kind: frames.RuleValOffset, Off: 16}}}},
	{"register", []byte{cfaRegister, 3, 12}, 0, 7, 8,
		[]place{{3, frames.RegRule{Kind: frames.RuleReg, Reg: 12}}}},
	{"a value in a register beyond the set is unknown", []byte{cfaRegister, 3, 40}, 0, 7, 8,
		[]place{{3, frames.RegRule{Kind: frames.RuleUndefined}}}},
	{"undefined, then same_value", []byte{cfaUndefined, 3, cfaUndefined, 6, cfaSameValue, 6}, 0, 7, 8,
		[]place{{3, frames.RegRule{Kind: frames.RuleUndefined}}, {6, frames.RegRule{}}}},
	{"GNU_args_size changes nothing", []byte{cfaGNUArgsSize, 0x90, 1, cfaDefCFAOffset, 16}, 0, 7, 16, nil},
	{"remember and restore keep CFA and registers",
		[]byte{cfaDefCFAOffset, 16, cfaOffset | 6, 2, cfaRememberState, cfaDefCFAOffset, 32, cfaOffset | 6, 4,
			cfaAdvanceLoc | 1, cfaRestoreState}, 1, 7, 16,
		[]place{{6, frames.RegRule{Kind: frames.RuleOffset, Off: -16}}}},
	{"remembered rows nest",
		[]byte{cfaDefCFAOffset, 16, cfaRememberState, cfaDefCFA, 6, 24, cfaOffset | 6, 3, cfaRememberState, cfaDefCFAOffset,
			40, cfaUndefined, 6,
			cfaAdvanceLoc | 1, cfaRestoreState, cfaAdvanceLoc | 1, cfaRestoreState}, 1, 6, 24,
		[]place{{6, frames.RegRule{Kind: frames.RuleOffset, Off: -24}}}},
	{"the outer remembered row is restored last",
		[]byte{cfaDefCFAOffset, 16, cfaRememberState, cfaDefCFA, 6, 24, cfaOffset | 6, 3, cfaRememberState, cfaDefCFAOffset,
			40, cfaUndefined, 6,
			cfaAdvanceLoc | 1, cfaRestoreState, cfaAdvanceLoc | 1, cfaRestoreState}, 2, 7, 16,
		[]place{{6, frames.RegRule{}}}},
	{"GNU_window_save changes nothing", []byte{cfaARM64NegateRA, cfaDefCFAOffset, 16}, 0, 7, 16, nil},
	{"restore sets the CIE's rule", []byte{cfaOffset | 6, 2, cfaOffset | 16, 5, cfaRestore | 6, cfaRestore | 16}, 0, 7,
		8,
		[]place{{6, frames.RegRule{}}}},
	{"restore_extended", []byte{cfaOffset | 6, 2, cfaRestoreExtended, 6}, 0, 7, 8, []place{{6, frames.RegRule{}}}},
	{"vector registers are ignored", []byte{cfaOffset | 17, 5, cfaOffset | 6, 2}, 0, 7, 8,
		[]place{{17, frames.RegRule{}}, {6, frames.RegRule{Kind: frames.RuleOffset, Off: -16}}}},
	{"a value expression that reads memory", []byte{cfaValExpression, 6, 3, opBreg0 + 7, 40, opDeref}, 0, 7, 8,
		[]place{{6, frames.RegRule{Kind: frames.RuleRegOffset, Reg: 7, Off: 40}}}},
	{"an expression on a register", []byte{cfaExpression, 6, 2, opBreg0 + 7, 40}, 0, 7, 8,
		[]place{{6, frames.RegRule{Kind: frames.RuleRegOffset, Reg: 7, Off: 40}}}},
	{"a value expression that is a register", []byte{cfaValExpression, 6, 2, opBreg0 + 12, 0}, 0, 7, 8,
		[]place{{6, frames.RegRule{Kind: frames.RuleReg, Reg: 12}}}},
	{"a CFA expression that is a register plus an offset", []byte{cfaDefCFAExpression, 2, opBreg0 + 6, 16}, 0, 6, 16, nil},
}

func TestProgramsHaveTheirRow(t *testing.T) {
	for _, c := range programs {
		for _, debug := range []bool{false, true} {
			b := newBuilder()
			b.debug = debug
			table := b.addCIE().addFDE(testStart, testLen, c.prog...).table(t, frames.X86_64)
			_, row := rowAt(t, table, testStart+c.at)
			if row.CFAReg != c.cfaReg || row.CFAOff != c.cfaOff || row.CFAExpr != nil || row.CFADeref {
				t.Errorf("%s: CFA is r%d%+d, want r%d%+d", c.name, row.CFAReg, row.CFAOff, c.cfaReg, c.cfaOff)
			}
			if row.RA != (frames.RegRule{Kind: frames.RuleOffset, Off: -8}) {
				t.Errorf("%s: return address at %+v", c.name, row.RA)
			}
			for _, p := range c.places {
				if got := row.Regs[p.reg]; got != p.want {
					t.Errorf("%s: register %d is %+v, want %+v", c.name, p.reg, got, p.want)
				}
			}
		}
	}
}

func TestInvalidProgramsHaveNoRule(t *testing.T) {
	for name, prog := range map[string][]byte{
		"unknown instruction":                 {0x3f},
		"operand cut off":                     {cfaDefCFA, 7},
		"LEB128 number without an end":        {cfaDefCFAOffset, 0x80, 0x80},
		"restore without remember":            {cfaRestoreState},
		"remembered too deep":                 bytes.Repeat([]byte{cfaRememberState}, maxRemembered+1),
		"too many expressions":                bytes.Repeat([]byte{cfaExpression, 3, 1, opNop}, maxExprs+1),
		"expression longer than entry":        {cfaDefCFAExpression, 0x7f, opBreg0, 0},
		"CFA relative to an unknown register": {cfaDefCFA, 33, 8},
		"set_loc backwards":                   append([]byte{cfaSetLoc}, le(8, testStart-1)...),
		"truncated set_loc":                   {cfaSetLoc, 1, 2},
	} {
		table := newBuilder().addCIE().addFDE(testStart, testLen, prog...).table(t, frames.X86_64)
		if rule, _, ok := table.Rule(frames.Query{PC: testStart + 8}); ok {
			t.Errorf("%s: rule %+v, want none", name, rule)
		}
	}
}

func TestUndefinedReturnAddressIsTheRoot(t *testing.T) {
	table := newBuilder().addCIE().addFDE(testStart, testLen, cfaUndefined, 16).table(t, frames.X86_64)
	rule, row, ok := table.Rule(frames.Query{PC: testStart})
	if !ok || rule.Flags != frames.FlagRoot || row != nil {
		t.Errorf("got %+v, %v, %v", rule, row, ok)
	}
}

func TestSignalAugmentationKeepsTheRow(t *testing.T) {
	b := newBuilder()
	b.aug = "zS"
	table := b.addCIE().addFDE(testStart, testLen).table(t, frames.X86_64)
	rule, row, ok := table.Rule(frames.Query{PC: testStart})
	if !ok || row == nil || rule.Flags&frames.FlagExactPC == 0 {
		t.Errorf("got %+v, %v, %v", rule, row, ok)
	}
}

func TestStackPointerOtherThanTheCFAKeepsTheRow(t *testing.T) {
	for prog, need := range map[string]bool{
		string([]byte{cfaValOffset, 7, 0}): false,
		string([]byte{cfaValOffset, 7, 1}): true,
		string([]byte{cfaRegister, 7, 12}): true,
	} {
		table := newBuilder().addCIE().addFDE(testStart, testLen, []byte(prog)...).table(t, frames.X86_64)
		if _, row, ok := table.Rule(frames.Query{PC: testStart}); !ok || (row != nil) != need {
			t.Errorf("program %x: row %v, want one: %v", prog, row, need)
		}
	}
}

func TestReturnAddressesAreLookedUpInsideTheCall(t *testing.T) {
	b := newBuilder().addCIE().addFDE(testStart, testLen, cfaDefCFAOffset, 32)
	table := b.addFDE(testStart+testLen, testLen).table(t, frames.X86_64)
	rule, _, _ := table.Rule(frames.Query{PC: testStart + testLen, AfterCall: true})
	if rule.CFAOff != 32 {
		t.Errorf("return address: CFA offset %d, want 32", rule.CFAOff)
	}
	if rule, _, _ = table.Rule(frames.Query{PC: testStart + testLen}); rule.CFAOff != 8 {
		t.Errorf("exact address: CFA offset %d, want 8", rule.CFAOff)
	}
}

func TestARM64Rules(t *testing.T) {
	b := newBuilder()
	b.ra, b.initial = 30, []byte{cfaDefCFA, 31, 0}
	// A prologue that signs the return address: paciasp; stp x29, x30, [sp, #-32]!
	b.addCIE().addFDE(testStart, testLen,
		cfaAdvanceLoc|4, cfaARM64NegateRA,
		cfaAdvanceLoc|4, cfaDefCFAOffset, 32, cfaOffset|29, 4, cfaOffset|30, 3,
		cfaAdvanceLoc|4, cfaARM64NegateRAPC, cfaARM64SetRAState, 1, 0)
	table := b.table(t, frames.ARM64)
	rule, row, ok := table.Rule(frames.Query{PC: testStart + 4})
	if !ok || row != nil || rule.Flags != frames.FlagRAInLR || rule.CFAReg != frames.ARM64SP {
		t.Errorf("before the push: rule %+v, %v, %v; want the link register", rule, row, ok)
	}
	rule, row, ok = table.Rule(frames.Query{PC: testStart + 12})
	if !ok || row != nil || rule.Flags != 0 || rule.CFAOff != 32 || rule.Saved[0] != 4 || rule.Saved[1] != 3 {
		t.Errorf("after the push: rule %+v, %v, %v; want sp+32", rule, row, ok)
	}
}

func TestRowsEndAtAnInstructionThatIsCut(t *testing.T) {
	table := newBuilder().addCIE().addFDE(testStart, testLen, cfaAdvanceLoc|4, cfaOffset|6).table(t, frames.X86_64)
	for e := range table.FDEs() {
		for at := range table.Rows(e) {
			if at != testStart {
				t.Errorf("a row at %#x", at)
			}
		}
	}
}

func TestReturnAddressesWithinTheCallsEntryAreMarked(t *testing.T) {
	table := newBuilder().addCIE().addFDE(testStart, testLen).table(t, frames.X86_64)
	for q, want := range map[frames.Query]frames.Flags{
		{PC: testStart + 1, AfterCall: true}:       frames.FlagWithin,
		{PC: testStart + testLen, AfterCall: true}: 0, // the next function's first instruction
		{PC: testStart + 1}:                        0,
	} {
		if rule, _, ok := table.Rule(q); !ok || rule.Flags != want {
			t.Errorf("%+v: %+v, %v; want flags %v", q, rule, ok, want)
		}
	}
}
