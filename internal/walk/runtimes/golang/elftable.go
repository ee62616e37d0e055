// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"debug/elf"
	"errors"

	"prywalk/internal/code/elffile"
	"prywalk/internal/walk/managed"
)

const maxPclntab = 512 << 20

// HasTable reports whether a file is a Go program.
func HasTable(f *elffile.File) bool { return tableSection(f) != nil }

// TableOf reads the [Table] of a Go program, or returns nil.
func TableOf(f *elffile.File) managed.FileTable {
	s := tableSection(f)
	if s == nil {
		return nil
	}
	tab, err := f.Data(s)
	if err != nil {
		return nil
	}
	im := Image{
		Arch: f.Arch(), Pclntab: tab, PclntabAddr: s.Addr,
		Data: dataRanges(f), Rela: relocations(f), Read: f.ReadAddr,
	}
	defer f.Free(im.Rela)
	t, err := New(im)
	if errors.Is(err, errNoText) {
		im.TextStart = symbolValue(f, "runtime.text")
		t, err = New(im)
	}
	if err != nil {
		f.Free(tab)
		return nil
	}
	return t
}

func tableSection(f *elffile.File) *elffile.Section {
	if s := firstSection(f, ".gopclntab", ".data.rel.ro.gopclntab"); s != nil && s.Size <= maxPclntab {
		return s
	}
	return nil
}

func firstSection(f *elffile.File, names ...string) *elffile.Section {
	for _, name := range names {
		if s := f.Section(name); s != nil && s.Type != elf.SHT_NOBITS {
			return s
		}
	}
	return nil
}

func dataRanges(f *elffile.File) (out []Range) {
	for i := range f.Segments {
		s := &f.Segments[i]
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_W != 0 {
			out = append(out, Range{Addr: s.VAddr, Size: s.FileSize})
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
