// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"bytes"
	"errors"
	"slices"
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

func TestIndexGrowsOnlyByReservedMemory(t *testing.T) {
	const entries = 5 * firstEntries
	b := newBuilder()
	b.debug = true
	b.addCIE()
	for i := range uint64(entries) {
		b.addFDE(testStart+i*testLen, testLen)
	}
	for _, limit := range []int{0, firstEntries, 2 * firstEntries, entries + firstEntries, 1 << 20} {
		asked, granted := 0, 0
		table, err := New(Config{Arch: frames.X86_64, DebugFrame: NewSection(0, b.out), Reserve: func(bytes int64) bool {
			asked++
			ok := granted+int(bytes) <= limit*indexEntrySize
			if ok {
				granted += int(bytes)
			}
			return ok
		}})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for i := range uint64(entries) {
			if start, _, ok := table.FuncRange(testStart + i*testLen); ok && start == testStart+i*testLen {
				found++
			}
		}
		have := cap(table.debug.index.entries)
		if want := min(entries, granted/indexEntrySize); found != want || have*indexEntrySize > granted {
			t.Errorf("limit %d: %d of %d entries are found, want %d; %d bytes are reserved for %d", limit, found, entries, want,
				granted, have)
		}
		if again := asked; again > 8 {
			t.Errorf("limit %d: memory is asked %d times, want a few times, once it is refused never again", limit, again)
		}
	}
}

// equalEntries is a section of a CIE and equal FDEs.
type equalEntries struct {
	cie, fdes []byte // fdes has a view from any place of the first FDE on
	fde       uint64 // bytes
	views     int
}

func (e *equalEntries) View(off uint64, n int) ([]byte, error) {
	e.views++
	if cie := uint64(len(e.cie)); off >= cie {
		return e.fdes[(off-cie)%e.fde:][:n], nil
	}
	return append(slices.Clone(e.cie[off:]), e.fdes...)[:n], nil
}

func TestMillionsOfEntriesOfOneStartHaveBoundedCosts(t *testing.T) {
	b := newBuilder()
	b.debug = true
	cie := slices.Clone(b.addCIE().out)
	fde := b.addFDE(testStart, testLen).out[len(cie):]
	data := &equalEntries{cie: cie, fdes: bytes.Repeat(fde, 2*viewSize/len(fde)), fde: uint64(len(fde))}
	reserved := int64(0)
	table, err := New(Config{
		Arch:       frames.X86_64,
		DebugFrame: Section{Size: uint64(len(cie) + 2*maxEntries*len(fde)), Data: data},
		Reserve:    func(bytes int64) bool { reserved += bytes; return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := table.FuncRange(testStart); !ok {
		t.Error("the function is not found")
	}
	if n := len(table.debug.index.entries); n != maxEntries-1 || reserved > 65<<20 {
		t.Errorf("index of %d entries in %d bytes, want all that are read, and at most 65 MiB", n, reserved)
	}
	data.views = 0
	if _, _, ok := table.FuncRange(testStart + testLen); ok {
		t.Error("a function is found after all entries")
	}
	if data.views > 2*maxSameStart {
		t.Errorf("%d views of the section in a lookup, want at most two for each of %d entries", data.views, maxSameStart)
	}
}
