// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"debug/elf"
	"testing"

	"github.com/ulikunitz/xz"
)

func FuzzOpen(f *testing.F) {
	m := newImage()
	m.segs = []Segment{
		{Type: elf.PT_LOAD, Flags: elf.PF_X, FileSize: 4096, MemSize: 4096, Align: 4096},
		{Type: elf.PT_NOTE, Off: 400, FileSize: 100},
		{Type: elf.PT_GNU_EH_FRAME, VAddr: 300, FileSize: 20},
	}
	str := m.add(Section{Name: ".strtab", Type: elf.SHT_STRTAB}, []byte("\x00name\x00"))
	m.add(Section{Name: ".symtab", Type: elf.SHT_SYMTAB, Link: uint32(str)}, make([]byte, 3*symbolSize))
	m.add(Section{Name: ".dynsym", Type: elf.SHT_DYNSYM, Link: uint32(str)}, make([]byte, 3*symbolSize))
	m.add(Section{Name: ".note.gnu.build-id", Type: elf.SHT_NOTE}, note("GNU", 3, []byte{1, 2}))
	m.add(Section{Name: ".gnu_debuglink", Type: elf.SHT_PROGBITS}, []byte("x.debug\x00abcd"))
	m.add(Section{Name: ".gnu_debugaltlink", Type: elf.SHT_PROGBITS}, []byte("x\x00abcd"))
	m.add(Section{Name: ".z", Type: elf.SHT_PROGBITS, Flags: elf.SHF_COMPRESSED},
		chdr(1, 20, deflated(f, []byte("hello"))))
	m.add(Section{Name: ".s", Type: elf.SHT_PROGBITS, Flags: elf.SHF_COMPRESSED},
		chdr(2, 5, zstandard(f, []byte("hello"))))
	m.add(Section{Name: ".gnu_debugdata", Type: elf.SHT_PROGBITS}, xzOf(f, newImage().bytes(), xz.WriterConfig{}))
	f.Add(m.bytes())
	f.Add(newImage().bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Open(bytes.NewReader(data), int64(len(data)))
		if err == nil {
			exercise(file)
		}
	})
}

func exercise(f *File) {
	for i := range f.Sections[:min(len(f.Sections), 64)] {
		s := &f.Sections[i]
		if data, err := f.Data(s); err == nil && len(data) > 0 {
			f.Section(s.Name)
		}
		if w, err := f.Window(s); err == nil {
			_, _ = w.View(0, int(min(w.Size(), 100)))
			_, _ = w.View(w.Size()/2, int(min(w.Size()/2, 9000)))
		}
	}
	for _, kind := range []SymbolKind{SymTab, DynSym} {
		syms, _ := f.Symbols(kind)
		for i := range syms[:min(len(syms), 100)] {
			f.SymbolName(kind, &syms[i])
		}
	}
	for _, kind := range []SymbolKind{SymTab, DynSym} {
		f.EachNamed(kind, []string{"name", "me"}, func(int, *Symbol) bool { return true })
	}
	f.BuildID()
	for range f.Notes() {
	}
	f.debugLink()
	f.debugAltLink()
	f.debugPaths("/usr/bin/a")
	_ = f.checkDebug(f, bytes.NewReader(nil), 0) // either result is correct
	f.EhFrame()
	f.ReadAddr(f.Entry, make([]byte, 100))
	f.Bias(0x7000_0000_0000, f.Entry&^4095, true)
	if inner, err := f.MiniDebug(); err == nil {
		inner.BuildID()
	}
}

func FuzzXZ(f *testing.F) {
	f.Add(xzOf(f, []byte("hello"), xz.WriterConfig{}))
	f.Add(xzOf(f, sample, xz.WriterConfig{BlockSize: 100_000, CheckSum: xz.CRC32}))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got growingBuffer
		if err := unxz(&got, data); err == nil && len(got.data) > maxMiniDebug {
			t.Errorf("%d bytes decompressed, more than the limit", len(got.data))
		}
	})
}
