// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"debug/elf"
	"slices"
	"testing"

	"prywalk/internal/code/elffile"
)

func TestCodeIsOfSectionsElseOfSegments(t *testing.T) {
	const text, code = elf.SHF_ALLOC | elf.SHF_EXECINSTR, elf.PF_R | elf.PF_X
	sections := []elffile.Section{{Addr: 0x3000, Size: 0x100, Flags: text}, {Addr: 0x4000, Size: 0x100,
		Flags: elf.SHF_ALLOC},
		{Addr: 0x1000, Size: 0x20, Flags: text}, {Addr: 0x9000, Flags: text}}
	segments := []elffile.Segment{{Type: elf.PT_NOTE, Flags: code, VAddr: 0x500, MemSize: 0x10},
		{Type: elf.PT_LOAD, Flags: code, VAddr: 0x3000, MemSize: 0x1000}, {Type: elf.PT_LOAD, Flags: elf.PF_R,
			VAddr: 0x5000, MemSize: 0x10},
		{Type: elf.PT_LOAD, Flags: code, VAddr: 0x1000, MemSize: 0x800}, {Type: elf.PT_LOAD, Flags: code,
			VAddr: ^uint64(0), MemSize: 2}}
	for _, c := range []struct {
		what string
		file *elffile.File
		want []extent
		ends map[uint64]uint64
	}{
		{"sections", fileOf(sections, segments), []extent{{0x1000, 0x1020}, {0x3000, 0x3100}},
			map[uint64]uint64{0xfff: 0, 0x1000: 0x1020, 0x101f: 0x1020, 0x1020: 0, 0x3000: 0x3100, 0x3100: 0}},
		{"no section of code", fileOf(sections[1:2], segments),
			[]extent{{0x1000, 0x1800}, {0x3000, 0x4000}}, map[uint64]uint64{0x17ff: 0x1800, 0x1800: 0, 0x3fff: 0x4000}},
		{"no sections", fileOf(nil, segments), []extent{{0x1000, 0x1800}, {0x3000, 0x4000}}, nil},
	} {
		got := codeOf(c.file)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %x, want %x", c.what, got, c.want)
		}
		for at, want := range c.ends {
			if end := (&symIndex{code: got}).codeEnd(at); end != want {
				t.Errorf("%s: the code at %#x ends at %#x, want %#x", c.what, at, end, want)
			}
		}
	}
}

func fileOf(sections []elffile.Section, segments []elffile.Segment) *elffile.File {
	f := &elffile.File{Segments: segments}
	f.Sections = sections
	return f
}
