// SPDX-License-Identifier: Apache-2.0

package code

import (
	"errors"

	"prywalk/internal/elffile"
	"prywalk/internal/runtimes/golang"
)

// maxPclntab bounds the table that is read, in bytes; that of the largest Go
// programs is a third of it.
const maxPclntab = 512 << 20

// GoTable gives the table of a Go program, nil if it is none. Like ELF it is for one
// goroutine at a time.
func (img *Image) GoTable() *golang.Table { return img.prepared().goTable }

// GoTableOf reads the Go table of a file that no process has to run, nil if it is no Go program's.
func GoTableOf(f *elffile.File) *golang.Table { return goTable(f) }

// goTable reads the Go table of a file, nil if it has none. Whether it has costs a
// look at the names of its sections.
func goTable(f *elffile.File) *golang.Table {
	s := goSection(f)
	if s == nil {
		return nil
	}
	tab, err := f.Data(s)
	if err != nil {
		return nil
	}
	im := golang.Image{
		Arch: f.Arch(), Pclntab: tab, PclntabAddr: s.Addr,
		Data: goData(f), Rela: relocations(f), Read: f.ReadAddr,
	}
	t, err := golang.New(im)
	if errors.Is(err, golang.ErrNoText) {
		im.TextStart = symbolValue(f, "runtime.text")
		t, err = golang.New(im)
	}
	if err != nil {
		f.Free(tab)
		return nil
	}
	return t
}

// goSection gives the section with the Go table, nil if there is none.
func goSection(f *elffile.File) *elffile.Section {
	if s := firstSection(f, ".gopclntab", ".data.rel.ro.gopclntab"); s != nil && s.Size <= maxPclntab {
		return s
	}
	return nil
}

// hasGoTable reports whether the file says that it has a Go table. Nothing is read for it.
func (img *Image) hasGoTable() bool {
	img.mu.Lock()
	defer img.mu.Unlock()
	return goSection(img.ELF) != nil
}

// firstSection gives the first of several sections that exists.
func firstSection(f *elffile.File, names ...string) *elffile.Section {
	for _, name := range names {
		if s := f.Section(name); s != nil && s.Type != elffile.SecNoBits {
			return s
		}
	}
	return nil
}

// goData lists where the linker may have put the moduledata.
func goData(f *elffile.File) []golang.Range {
	if s := f.Section(".go.module"); s != nil {
		return []golang.Range{{Addr: s.Addr, Size: s.Size}}
	}
	var out []golang.Range
	for _, name := range []string{".noptrdata", ".data", ".data.rel.ro"} {
		if s := f.Section(name); s != nil {
			out = append(out, golang.Range{Addr: s.Addr, Size: s.Size})
		}
	}
	if len(out) > 0 {
		return out
	}
	for i := range f.Segments {
		s := &f.Segments[i]
		if s.Type == elffile.SegLoad && s.Flags&elffile.SegWrite != 0 {
			out = append(out, golang.Range{Addr: s.VAddr, Size: s.FileSize})
		}
	}
	return out
}

// maxRela bounds the relocations that are read, in bytes.
const maxRela = 64 << 20

// relocations gives the dynamic relocations, nil if there are none.
func relocations(f *elffile.File) []byte {
	s := firstSection(f, ".rela.dyn", ".rela")
	if s == nil || s.Size > maxRela {
		return nil
	}
	b, err := f.Data(s)
	if err != nil {
		return nil
	}
	return b
}

// symbolValue gives a symbol's value, 0 if there is none of that name.
func symbolValue(f *elffile.File, name string) uint64 {
	syms, _ := f.Symbols(elffile.SymTab) // what can be read of a damaged table
	defer f.FreeSymbols(syms)
	for i := range syms {
		if string(f.PeekName(elffile.SymTab, &syms[i])) == name {
			return syms[i].Value
		}
	}
	return 0
}
