// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"errors"
	"slices"
	"testing"

	"prywalk/frames"
)

func TestOlderFormatsAreRead(t *testing.T) {
	for m, b := range map[uint32][]byte{magic118: excerpt(magic118, 1), magic120: excerpt(magic120, 1)} {
		tab, err := New(Image{Arch: frames.X86_64, Pclntab: b, PclntabAddr: 0x5000})
		if err != nil {
			t.Fatalf("%#x: %v", m, err)
		}
		if l := tab.Lines(0x1005, nil); len(l) != 1 || l[0].Name != "main.f" || l[0].File != "f.go" {
			t.Errorf("%#x: lines %+v", m, l)
		}
		if s, e, ok := tab.FuncRange(0x101f); !ok || s != 0x1000 || e != 0x1020 {
			t.Errorf("%#x: range %#x %#x %v", m, s, e, ok)
		}
		for pc, want := range map[uint64]int32{0x1001: 8, 0x1003: 8, 0x1005: 24, 0x100f: 24} {
			if r, _, ok := tab.Rule(frames.Query{PC: pc}); !ok || r.CFAOff != want {
				t.Errorf("%#x: rule at %#x: %+v %v, want CFA rsp+%d", m, pc, r, ok, want)
			}
		}
	}
}

// The program's Go runtime is known, so that no verdict leaves its goroutines out unnoticed.
func TestTablesBeforeGo118HaveNoFunctions(t *testing.T) {
	for _, magic := range []uint32{magic112, magic116} {
		tab, err := New(Image{Arch: frames.X86_64, Pclntab: excerpt(magic, 1), PclntabAddr: 0x5000, TextStart: 0x1000})
		if err != nil {
			t.Fatalf("%#x: %v", magic, err)
		}
		_, _, hasRule := tab.Rule(frames.Query{PC: 0x1005})
		_, _, hasRange := tab.FuncRange(0x1005)
		if l := tab.Lines(0x1005, nil); len(l) != 0 || hasRule || hasRange {
			t.Errorf("%#x: lines %+v, a rule: %v, a range: %v", magic, l, hasRule, hasRange)
		}
		r, err := Detect(&tableHost{table: tab, mods: []*frames.Module{{}}})
		if r == nil || err != nil {
			t.Fatalf("%#x: runtime %v, %v", magic, r, err)
		}
		if _, err := r.(*Runtime).AllTasks(); !errors.Is(err, errGoroutines) {
			t.Errorf("%#x: goroutines: %v, want %v", magic, err, errGoroutines)
		}
	}
}

// An obfuscator gives the table a magic number of its own (garble: internal/linker, "add custom magic value").
func TestATableWithAForeignMagicIsReadIfModuleDataReferToIt(t *testing.T) {
	im, _ := image(t, build(t, source, noCgo))
	own, err := New(im)
	if err != nil {
		t.Fatal(err)
	}
	foreign := append([]byte("\xe1\x1b\x64\x7d"), im.Pclntab[4:]...)
	im.Pclntab, im.TextStart = foreign, 0
	got, err := New(im)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := got.GOffsets()
	if want, _ := own.GOffsets(); !ok || c != want || got.text != own.text || got.gofunc != own.gofunc {
		t.Errorf("offsets %+v, text %#x, go:func.* %#x; want %+v, %#x, %#x", c, got.text, got.gofunc, want, own.text,
			own.gofunc)
	}
	im.Data = nil
	if _, err := New(im); !errors.Is(err, errNoTable) {
		t.Errorf("without module data: %v, want %v", err, errNoTable)
	}
}

// garble -tiny leaves "" or "runtime.?" of names that are not exported.
func TestFunctionsWithoutNamesHaveThoseOfTheirNumbers(t *testing.T) {
	im, _ := image(t, build(t, source, noCgo))
	own, err := New(im)
	if err != nil {
		t.Fatal(err)
	}
	bare := append([]byte("\xe1\x1b\x64\x7d"), im.Pclntab[4:]...)
	names := bare[len(bare)-len(own.h.names) : len(bare)-len(own.h.cus)]
	clear(names)
	im.Pclntab = bare
	got, err := New(im)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := got.GOffsets()
	if want, _ := own.GOffsets(); !ok || c != want {
		t.Errorf("offsets %+v, want %+v", c, want)
	}
	for _, name := range []string{
		"runtime.mcall", "runtime.mstart", "runtime.goexit", "runtime.main", "runtime.morestack",
	} {
		if pcs := got.funcByName(name); !slices.Contains(own.funcByName(name), pcs[0]) || len(pcs) != 1 {
			t.Errorf("%s: %#x, want %#x", name, pcs, own.funcByName(name))
		}
	}
	if bss := got.bss; bss.Size == 0 || bss != own.bss {
		t.Errorf("bss %+v, want %+v", bss, own.bss)
	}
}
