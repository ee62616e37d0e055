// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"errors"
	"os"
	"testing"

	"prywalk/internal/code/elffile"
	"prywalk/internal/testtargets"
)

func openTable(t testing.TB, path string) *Table {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		testtargets.Need(t, !errors.Is(err, os.ErrNotExist), path, testtargets.SetUp)
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	st, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elffile.Open(file, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	return tableOf(t, f)
}

func tableOf(t testing.TB, f *elffile.File) *Table {
	t.Helper()
	cfg := Config{Arch: f.Arch()}
	hdr, eh := f.EhFrame()
	cfg.EhFrameHdr, cfg.EhFrame = sectionFrom(hdr), sectionFrom(eh)
	debug, _ := f.Window(f.DebugSection("frame"))
	cfg.DebugFrame = sectionFrom(debug)
	table, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func sectionFrom(w *elffile.Window) Section {
	if w == nil {
		return Section{}
	}
	return Section{Addr: w.Addr(), Size: w.Size(), Data: w}
}
