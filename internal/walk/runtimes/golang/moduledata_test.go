// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"os"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/elffile"
)

func TestTheEndOfTheTableTellsTheFormOfModuledata(t *testing.T) {
	const table, size, gofunc = 0x5000, 0x1000, 0x9000
	for name, c := range map[string]struct {
		magic   uint32
		at, end int // word of go:func.*, and of the end of the table; 0 means that it has none
	}{"1.18": {magic118, 38, 0}, "1.20": {magic120, 40, 0}, "1.26": {magic120, 40, 41}, "1.27": {magic120, 43, 44}} {
		tab := moduleScan{funcs: &funcs{img: Image{PclntabAddr: table, Pclntab: make([]byte, size)}}}
		tab.funcs.h.magic = c.magic
		var w [mdWords]uint64
		for i := range w {
			w[i] = 0x100000 + uint64(i) // other addresses
		}
		w[c.at] = gofunc
		if c.end != 0 {
			w[c.end] = table + size
		}
		if got := tab.gofunc(&w); got != gofunc {
			t.Errorf("Go %s: %#x, not %#x", name, got, uint64(gofunc))
		}
	}
}

func TestRelocationsAreFreedOnceTheTableIsRead(t *testing.T) {
	file, err := os.Open(build(t, source, noCgo, pie...))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elffile.Open(file, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	before := f.Memory().Used()
	tab, ok := TableOf(f).(*Table)
	if !ok || tab.gofunc == 0 {
		t.Fatalf("table %v: no moduledata", tab)
	}
	if got, want := f.Memory().Used()-before, int64(cap(tab.img.Pclntab)); got != want || tab.img.Rela != nil {
		t.Errorf("%d bytes are in use, %d of relocations; want the %d of .gopclntab", got, len(tab.img.Rela), want)
	}
	if len(relocations(f)) == 0 {
		t.Error("the program has no relocations")
	}
}

func TestFewPlacesAreTakenForModuledata(t *testing.T) {
	const many = 1000
	rela := make([]byte, 24*many)
	for b := rela; len(b) > 0; b = b[24:] {
		binary.LittleEndian.PutUint64(b, 0x8000)
		binary.LittleEndian.PutUint64(b[8:], relative(frames.X86_64))
		binary.LittleEndian.PutUint64(b[16:], 0x5000)
	}
	reads := 0
	_, err := New(Image{Arch: frames.X86_64, Pclntab: excerpt(magic120, 1), PclntabAddr: 0x5000, TextStart: 0x1000,
		Rela: rela, Read: func(_ uint64, b []byte) int {
			reads++
			clear(b)
			return len(b)
		}})
	if err != nil || reads == 0 || reads > maxCandidates {
		t.Errorf("%v after %d reads; want at most %d", err, reads, maxCandidates)
	}
}
