// SPDX-License-Identifier: Apache-2.0

package elffile

import "testing"

// The program has 110,000 symbols.
func BenchmarkSymbols(b *testing.B) {
	f := openReal(b, realFiles(b)[len(realFiles(b))-1])
	for _, path := range realFiles(b) {
		if path == "/usr/bin/node" {
			f = openReal(b, path)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		syms, err := f.Symbols(SymTab)
		if err != nil {
			syms, err = f.Symbols(DynSym)
		}
		if err != nil || len(syms) == 0 {
			b.Fatal(err)
		}
	}
}

func BenchmarkView(b *testing.B) {
	f := openReal(b, realFiles(b)[0])
	w, err := f.Window(f.Section(".text"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	off := uint64(0)
	for b.Loop() {
		off = (off + 7919) % (w.Size() - 16)
		if _, err := w.View(off, 16); err != nil {
			b.Fatal(err)
		}
	}
}
