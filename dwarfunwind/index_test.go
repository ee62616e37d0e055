// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"testing"

	"prywalk/frames"
)

func TestTheIndexFindsTheEntryAroundAnAddressAmongThoseOfOneStart(t *testing.T) {
	const short = 0x10
	for name, sizes := range map[string][2]uint64{
		"the longer first":  {testLen, short},
		"the shorter first": {short, testLen},
	} {
		b := newBuilder()
		b.debug = true
		b.addCIE()
		for _, size := range sizes {
			b.addFDE(testStart, size, cfaDefCFAOffset, 48)
		}
		table := b.addFDE(testStart+2*testLen, testLen).table(t, frames.X86_64)
		for _, pc := range []uint64{testStart, testStart + 1, testStart + short, testStart + testLen - 1} {
			if rule, _, ok := table.Rule(frames.Query{PC: pc}); !ok || rule.CFAOff != 48 {
				t.Errorf("%s: rule at %#x = %+v, %v; want CFA offset 48", name, pc, rule, ok)
			}
		}
		if start, end, ok := table.FuncRange(testStart + short); !ok || start != testStart || end != testStart+testLen {
			t.Errorf("%s: range %#x to %#x, %v; want that of the longer entry", name, start, end, ok)
		}
		if _, _, ok := table.Rule(frames.Query{PC: testStart + testLen}); ok {
			t.Errorf("%s: a rule after both entries", name)
		}
	}
}
