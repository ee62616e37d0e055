// SPDX-License-Identifier: Apache-2.0

package code

import (
	"errors"

	"prywalk/internal/elffile"
	"prywalk/internal/runtimes/golang"
)

// bytes
const maxPclntab = 512 << 20

// GoTable gives the table of a Go program; nil for other files. Not safe for concurrent use.
func (img *Image) GoTable() *golang.Table { return img.prepared().goTable }

// GoTableOf reads the Go table of any file; nil if it is no Go program.
func GoTableOf(f *elffile.File) *golang.Table { return goTable(f) }

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

func goSection(f *elffile.File) *elffile.Section {
	if s := firstSection(f, ".gopclntab", ".data.rel.ro.gopclntab"); s != nil && s.Size <= maxPclntab {
		return s
	}
	return nil
}

func (img *Image) hasGoTable() bool {
	img.mu.Lock()
	defer img.mu.Unlock()
	return goSection(img.ELF) != nil
}

func firstSection(f *elffile.File, names ...string) *elffile.Section {
	for _, name := range names {
		if s := f.Section(name); s != nil && s.Type != elffile.SecNoBits {
			return s
		}
	}
	return nil
}

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

const maxRela = 64 << 20

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

func symbolValue(f *elffile.File, name string) uint64 {
	syms, _ := f.Symbols(elffile.SymTab)
	defer f.FreeSymbols(syms)
	for i := range syms {
		if string(f.NameBytes(elffile.SymTab, &syms[i])) == name {
			return syms[i].Value
		}
	}
	return 0
}
