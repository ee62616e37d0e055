// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"errors"
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

// emptyEntries is a section of entries of length 0, as a sparse file has.
type emptyEntries struct{ views int }

func (e *emptyEntries) View(_ uint64, n int) ([]byte, error) {
	if e.views++; e.views > 2*maxEntries {
		return nil, errors.New("too many views")
	}
	return zeros[:n], nil
}

var zeros [viewSize]byte

func TestAHugeSectionOfEmptyEntriesIsNotReadToItsEnd(t *testing.T) {
	var data emptyEntries
	table, err := New(Config{Arch: frames.X86_64, DebugFrame: Section{Size: 1 << 40, Data: &data}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := table.FuncRange(testStart); ok {
		t.Error("a function is found")
	}
	if data.views > 2*maxEntries {
		t.Errorf("%d views of the section, want at most one for each of %d entries", data.views, maxEntries)
	}
}
