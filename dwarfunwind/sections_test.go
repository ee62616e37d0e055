// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"prywalk/frames"
)

func TestSectionVariantsAreUnderstood(t *testing.T) {
	for name, change := range map[string]func(*builder){
		".eh_frame":                    func(b *builder) {},
		".eh_frame in 64-bit DWARF":    func(b *builder) { b.wide = true },
		".debug_frame 1":               func(b *builder) { b.debug = true },
		".debug_frame 3":               func(b *builder) { b.debug, b.version = true, 3 },
		".debug_frame 4":               func(b *builder) { b.debug, b.version = true, 4 },
		".debug_frame 5":               func(b *builder) { b.debug, b.version = true, 5 },
		".debug_frame in 64-bit DWARF": func(b *builder) { b.debug, b.wide = true, true },
		"key B signs pointers":         func(b *builder) { b.aug = "zB" },
		"a tagged stack":               func(b *builder) { b.aug = "zG" },
		"a personality and an LSDA": func(b *builder) {
			b.aug, b.augData = "zPLR", []byte{peUData4, 1, 2, 3, 4, peUData4,
				peAbsptr}
		},
		"an aligned personality": func(b *builder) {
			b.aug = "zPR"
			b.augData = append(append([]byte{peAligned}, bytes.Repeat([]byte{0xff}, b.aligning()+8)...), peAbsptr)
		},
		"unknown augmentation data": func(b *builder) { b.aug, b.augData = "zx", []byte{1, 2, 3} },
	} {
		b := newBuilder()
		change(b)
		table := b.addCIE().addFDE(testStart, testLen, cfaDefCFAOffset, 48).table(t, frames.X86_64)
		rule, _, ok := table.Rule(frames.Query{PC: testStart + 5})
		if !ok || rule.CFAOff != 48 || rule.Method != frames.MethodCFI {
			t.Errorf("%s: rule %+v, %v; want rsp+48", name, rule, ok)
		}
		start, end, ok := table.FuncRange(testStart + testLen - 1)
		if !ok || start != testStart || end != testStart+testLen {
			t.Errorf("%s: range %#x..%#x, want %#x..%#x", name, start, end, testStart, testStart+testLen)
		}
		if _, _, ok := table.Rule(frames.Query{PC: testStart + testLen}); ok {
			t.Errorf("%s: a rule beyond the end", name)
		}
		if _, _, ok := table.Rule(frames.Query{PC: testStart - 1}); ok {
			t.Errorf("%s: a rule before the start", name)
		}
	}
}

func TestEncodedAddresses(t *testing.T) {
	const cieSize = 4 + 4 + 1 + 3 + 3 + 2 + 5 // with x86Initial
	at := uint64(0x5000 + cieSize + 8)        // address of the FDE's first number
	for name, c := range map[string]struct {
		enc  uint8
		code []byte
		want bool
	}{
		"absptr":       {peAbsptr, append(le(8, testStart), le(8, testLen)...), true},
		"pcrel sdata4": {pePCRel | peSData4, append(le(4, testStart-at), le(4, testLen)...), true},
		"pcrel sdata8": {pePCRel | peSData8, append(le(8, testStart-at), le(8, testLen)...), true},
		"pcrel sdata2": {pePCRel | peSData2, append(le(2, testStart-at), le(2, testLen)...), true},
		"textrel sdata4": {0x20 | peSData4, append(le(4, (1<<32+testStart-0x20000)&0xffffffff), le(4, testLen)...),
			false},
		"datarel sdata4": {peDataRel | peSData4, append(le(4, (1<<32+testStart-0x30000)&0xffffffff), le(4, testLen)...),
			false},
		"udata2":            {peUData2, append(le(2, testStart), le(2, testLen)...), true},
		"udata4":            {peUData4, append(le(4, testStart), le(4, testLen)...), true},
		"uleb":              {peULEB, []byte{0x80, 0x20, 0x80, 0x02}, true},
		"sleb":              {peSLEB, []byte{0x80, 0x20, 0x80, 0x02}, true},
		"indirect":          {peIndirect | peUData4, append(le(4, testStart), le(4, testLen)...), false},
		"function-relative": {0x40 | peUData4, append(le(4, testStart), le(4, testLen)...), false},
		"aligned":           {0x50, append(le(8, testStart), le(8, testLen)...), false},
		"omitted":           {peOmit, append(le(8, testStart), le(8, testLen)...), false},
	} {
		b := newBuilder()
		b.aug, b.augData = "zR", []byte{c.enc}
		table := b.addCIE().addRaw(c.code, cfaDefCFAOffset, 48).table(t, frames.X86_64)
		if _, _, ok := table.Rule(frames.Query{PC: testStart + 5}); ok != c.want {
			t.Errorf("%s: rule %v, want %v", name, ok, c.want)
		}
	}
}

func withHdr(t *testing.T, enc uint8, change func([]byte) []byte) (*Table, error) {
	b := newBuilder().addCIE()
	const hdrAddr = 0x4000
	hdr := append([]byte{1, pePCRel | peSData4, peUData4, enc}, le(4, b.addr-hdrAddr-4)...)
	hdr = append(hdr, le(4, 3)...)
	for i := range uint64(3) {
		start, fde := testStart+i*2*testLen, b.addr+uint64(len(b.out))
		b.addFDE(start, testLen, cfaDefCFAOffset, byte(16*(i+1)))
		for _, v := range []uint64{start, fde} {
			switch enc & peBase {
			case pePCRel:
				v -= hdrAddr + uint64(len(hdr))
			case peDataRel:
				v -= hdrAddr
			}
			hdr = append(hdr, le(int(peSize(enc, 8)), v)...)
		}
	}
	if change != nil {
		hdr = change(hdr)
	}
	return New(Config{Arch: frames.X86_64, EhFrameHdr: NewSection(hdrAddr, hdr), EhFrame: NewSection(b.addr, b.out)})
}

func checkThree(t *testing.T, name string, table *Table) {
	t.Helper()
	for i := range uint64(3) {
		start := testStart + i*2*testLen
		rule, _, ok := table.Rule(frames.Query{PC: start + 7})
		if !ok || rule.CFAOff != int32(16*(i+1)) {
			t.Errorf("%s: function %d: rule %+v, %v", name, i, rule, ok)
		}
		if _, _, ok := table.Rule(frames.Query{PC: start + testLen}); ok {
			t.Errorf("%s: a rule after function %d", name, i)
		}
	}
	if _, _, ok := table.Rule(frames.Query{PC: testStart - 1}); ok {
		t.Errorf("%s: a rule before all functions", name)
	}
}

func TestSearchTableEncodings(t *testing.T) {
	for enc, want := range map[uint8]uint64{hdrCommon: 3, peAbsptr: 0, peUData4: 0, peUData8: 0, peSData8: 0, peUData2: 0,
		peDataRel | peSData8: 0, pePCRel | peSData4: 0, pePCRel | peSData8: 0, peDataRel | peSData2: 0,
		0x20 | peSData4: 0} {
		table, err := withHdr(t, enc, nil)
		if err != nil {
			t.Fatal(err)
		}
		if table.hdr.count != want { // 0 if an index replaces it
			t.Errorf("encoding %#x: %d entries, want %d", enc, table.hdr.count, want)
		}
		checkThree(t, fmt.Sprintf("encoding %#x", enc), table)
	}
}

func TestUnusableSearchTablesAreReplacedByAnIndex(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"no table":       func(b []byte) []byte { b[3] = peOmit; return b },
		"no count":       func(b []byte) []byte { b[2] = peOmit; return b },
		"other version":  func(b []byte) []byte { b[0] = 2; return b },
		"cut off":        func(b []byte) []byte { return b[:5] },
		"empty table":    func(b []byte) []byte { b[8] = 0; return b },
		"varying width":  func(b []byte) []byte { b[3] = peULEB; return b },
		"indirect table": func(b []byte) []byte { b[3] |= peIndirect; return b },
	} {
		table, err := withHdr(t, hdrCommon, change)
		if err != nil {
			t.Fatal(err)
		}
		if table.hdr.count != 0 {
			t.Errorf("%s: a search table of %d entries is used", name, table.hdr.count)
		}
		checkThree(t, name, table)
	}
}

func TestDroppedFunctionsAreIgnored(t *testing.T) {
	b := newBuilder()
	b.debug = true
	b.addCIE().addFDE(0, 0x10000, cfaDefCFAOffset, 48)
	b.addFDE(^uint64(0), testLen, cfaDefCFAOffset, 48)
	b.addFDE(testStart, 0, cfaDefCFAOffset, 48)
	b.addFDE(testStart, testLen, cfaDefCFAOffset, 32)
	table := b.table(t, frames.X86_64)
	rule, _, ok := table.Rule(frames.Query{PC: testStart + 1})
	if !ok || rule.CFAOff != 32 {
		t.Errorf("rule %+v, %v; want rsp+32", rule, ok)
	}
	if _, _, ok := table.Rule(frames.Query{PC: 0x800}); ok {
		t.Error("a rule from an FDE at address 0")
	}
}

func TestDamagedEntriesDoNotAffectOthers(t *testing.T) {
	b := newBuilder().addCIE().addFDE(testStart, testLen)
	b.entry(0, []byte{77, 0}) // a CIE of an unknown version
	b.cie = 0
	table := b.addFDE(testStart+testLen, testLen).table(t, frames.X86_64)
	for _, pc := range []uint64{testStart, testStart + testLen} {
		if _, _, ok := table.Rule(frames.Query{PC: pc}); !ok {
			t.Errorf("no rule for %#x", pc)
		}
	}
}

func TestDebugFrameIsUsedWhereEhFrameHasNoEntry(t *testing.T) {
	eh := newBuilder().addCIE().addFDE(testStart, testLen, cfaDefCFAOffset, 16)
	db := newBuilder()
	db.debug = true
	db.addCIE().addFDE(testStart, testLen, cfaDefCFAOffset, 32).addFDE(0x9000, testLen, cfaDefCFAOffset, 48)
	table, err := New(Config{Arch: frames.X86_64, EhFrame: NewSection(eh.addr, eh.out), DebugFrame: NewSection(0, db.out)})
	if err != nil {
		t.Fatal(err)
	}
	for pc, want := range map[uint64]int32{testStart: 16, 0x9000: 48} {
		if rule, _, ok := table.Rule(frames.Query{PC: pc}); !ok || rule.CFAOff != want {
			t.Errorf("%#x: rule %+v, %v; want CFA offset %d", pc, rule, ok, want)
		}
	}
}

func TestWithoutSectionsThereIsNoTable(t *testing.T) {
	if _, err := New(Config{Arch: frames.X86_64}); !errors.Is(err, ErrNoCFI) {
		t.Errorf("got %v, want %v", err, ErrNoCFI)
	}
	if _, err := New(Config{EhFrame: NewSection(0, []byte{0})}); err == nil {
		t.Error("no error for an unknown architecture")
	}
}

// LLVM's library of Rust 1.95, rewritten by BOLT, has entries without a length, mostly at the start of a function. If
// two entries have one start, the search table has the empty one only.
func TestEntriesWithoutALengthDoNotHideTheFunctionAroundThem(t *testing.T) {
	const hdrAddr = 0x4000
	full, none := [2]uint64{testStart, testLen}, [2]uint64{testStart, 0}
	for name, c := range map[string]struct {
		entries [][2]uint64
		hidden  int // that the search table lacks, from 1 on
	}{
		"an empty entry last":               {[][2]uint64{full, none}, 0},
		"an empty entry first":              {[][2]uint64{none, full}, 0},
		"only the empty entry in the table": {[][2]uint64{none, full}, 2},
		"empty entries in the middle":       {[][2]uint64{full, {testStart + 0x20, 0}, {testStart + 0x20, 0}}, 0},
		"in the middle and at the start":    {[][2]uint64{none, full, {testStart + 0x20, 0}}, 0},
	} {
		b := newBuilder().addCIE()
		hdr := append([]byte{1, pePCRel | peSData4, peUData4, hdrCommon}, le(4, b.addr-hdrAddr-4)...)
		hdr = append(hdr, le(4, 100)...)
		for i, e := range append([][2]uint64{{testStart - testLen, testLen}}, c.entries...) {
			if i == 0 || i != c.hidden {
				hdr = append(append(hdr, le(4, e[0]-hdrAddr)...), le(4, b.addr+uint64(len(b.out))-hdrAddr)...)
			}
			b.addFDE(e[0], e[1], cfaDefCFAOffset, 48)
		}
		for way, section := range map[string]Section{"search table": NewSection(hdrAddr, hdr), "index": {}} {
			table, err := New(Config{Arch: frames.X86_64, EhFrameHdr: section, EhFrame: NewSection(b.addr, b.out)})
			if err != nil {
				t.Fatal(err)
			}
			for _, pc := range []uint64{testStart, testStart + 0x1f, testStart + 0x20, testStart + testLen - 1} {
				if start, end, ok := table.FuncRange(pc); !ok || start != testStart || end != testStart+testLen {
					t.Errorf("%s, %s: %#x is in %#x..%#x, %v", name, way, pc, start, end, ok)
				}
			}
			if _, _, ok := table.FuncRange(testStart + testLen); ok {
				t.Errorf("%s, %s: a function after the last entry", name, way)
			}
		}
	}
}

// aligning is for the first pointer of augmentation data "zPR".
func (b *builder) aligning() int {
	at := b.addr + uint64(len(b.out)) + 4 + 4 + 1 + uint64(len(b.aug)+1) + 3 + 1 + 1
	return int(-at & 7)
}

func peSize(enc, addrSize uint8) uint8 {
	switch enc & peFormat {
	case peAbsptr:
		return addrSize
	case peUData2, peSData2:
		return 2
	case peUData4, peSData4:
		return 4
	case peUData8, peSData8:
		return 8
	}
	return 0
}
