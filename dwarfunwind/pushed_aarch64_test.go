// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"testing"

	"prywalk/frames"
)

// The PLT jumps to glibc's resolver with two words on the stack. From the second instruction on, call frame information
// has a return address above the CFA.
func TestWordsPushedBeforeAFunctionAreNotTheCallers(t *testing.T) {
	b := newBuilder()
	b.ra, b.initial = 30, []byte{cfaDefCFA, 31, 0}
	b.addCIE().addFDE(testStart, testLen,
		cfaAdvanceLoc|4, cfaOffsetExtendedSF, 30, 0x7f, // c+8
		cfaAdvanceLoc|4, cfaDefCFAOffset, 0xd0, 1)
	b.addFDE(testStart+testLen, testLen, cfaAdvanceLoc|4, cfaDefCFAOffset, 32, cfaOffset|29, 4, cfaOffset|30, 3)
	table := b.table(t, frames.ARM64)
	sp := frames.RegRule{Kind: frames.RuleValOffset, Off: 16}
	for at, ra := range map[uint64]frames.RegRule{
		0: {}, 4: {Kind: frames.RuleOffset, Off: 8}, 8: {Kind: frames.RuleOffset, Off: 8},
	} {
		if _, row := rowAt(t, table, testStart+at); row.Regs[frames.ARM64SP] != sp || row.RA != ra {
			t.Errorf("at +%d: sp is %+v, want %+v; return address %+v, want %+v", at, row.Regs[frames.ARM64SP], sp, row.RA, ra)
		}
	}
	for _, at := range []uint64{testLen, testLen + 4} { // an ordinary function
		if _, row := rowAt(t, table, testStart+at); row.Regs[frames.ARM64SP].Kind != frames.RuleSame {
			t.Errorf("at +%d: sp is %+v, want the CFA", at, row.Regs[frames.ARM64SP])
		}
	}
}

func TestRowsOfAFunctionDoNotDependOnAnEarlierLookup(t *testing.T) {
	b := newBuilder()
	b.ra, b.initial = 30, []byte{cfaDefCFA, 31, 0}
	b.addCIE().addFDE(testStart, testLen, cfaAdvanceLoc|4, cfaOffsetExtendedSF, 30, 0x7f)
	b.addFDE(testStart+testLen, testLen, cfaAdvanceLoc|4, cfaDefCFAOffset, 32)
	table := b.table(t, frames.ARM64)
	rowAt(t, table, testStart) // with a pushed return address
	for e := range table.FDEs() {
		for at, row := range table.Rows(e) {
			if sp := row.Regs[frames.ARM64SP]; e.Start != testStart && sp.Kind != frames.RuleSame {
				t.Errorf("at %#x: sp is %+v, want the CFA", at, sp)
			}
		}
	}
}
