// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"debug/elf"
	"strings"

	"prywalk/frames"
	"prywalk/internal/base/wire"
)

// Section is a section header.
type Section struct {
	Name  string
	Type  elf.SectionType
	Flags elf.SectionFlag
	// Addr is the address before the load bias; 0 if not loaded.
	Addr uint64
	// Off and Size are of the contents in the file, compressed or not.
	Off, Size  uint64
	Link, Info uint32
	// Align is in bytes; EntSize is of a table's entry.
	Align, EntSize uint64

	nameOff uint32
}

const (
	sectionSize = 64
	// Objects with a section per function have fewer.
	maxSections = 1 << 18
	// SHN_XINDEX in e_shstrndx: the index is sh_link of section 0.
	extendedIndex = 0xffff
	maxNameTable  = 1 << 24
	maxName       = 1 << 12
)

// readSections returns the null section, which can have the number of segments, also if the others are unreadable.
func (f *File) readSections(h *elf.Header64) []Section {
	if h.Shoff == 0 || h.Shentsize != sectionSize {
		return nil
	}
	first, err := f.readHeaders(h.Shoff, sectionSize, "section header 0")
	if err != nil {
		return nil
	}
	zero := parseSection(&wire.Cursor{Bytes: first})
	n := uint64(h.Shnum)
	if n == 0 {
		n = max(zero.Size, 1) // section 0 may be there for its sh_info only
	}
	if n > maxSections {
		return []Section{zero}
	}
	buf, err := f.readHeaders(h.Shoff, n*sectionSize, "section headers")
	if err != nil {
		return []Section{zero}
	}
	c := &wire.Cursor{Bytes: buf}
	secs := make([]Section, n)
	for i := range secs {
		secs[i] = parseSection(c)
	}
	return secs
}

func parseSection(c *wire.Cursor) (s Section) {
	s.nameOff, s.Type = c.U32(), elf.SectionType(c.U32())
	s.Flags = elf.SectionFlag(c.U64())
	s.Addr, s.Off, s.Size = c.U64(), c.U64(), c.U64()
	s.Link, s.Info = c.U32(), c.U32()
	s.Align, s.EntSize = c.U64(), c.U64()
	return s
}

func (f *File) nameSections(h *elf.Header64) {
	i := uint32(h.Shstrndx)
	if i == extendedIndex && len(f.Sections) > 0 {
		i = f.Sections[0].Link
	}
	if i == 0 || uint64(i) >= uint64(len(f.Sections)) {
		return
	}
	tab := &f.Sections[i]
	if tab.Type == elf.SHT_NOBITS || tab.Size > maxNameTable {
		return
	}
	names, err := f.readHeaders(tab.Off, tab.Size, "section names")
	if err != nil {
		return
	}
	table := string(names) // names may overlap
	for i := range f.Sections {
		f.Sections[i].Name = stringAt(table, f.Sections[i].nameOff)
	}
}

func stringAt(table string, off uint32) string {
	if uint64(off) >= uint64(len(table)) {
		return ""
	}
	s := table[off:]
	s = s[:min(len(s), maxName)]
	return s[:max(0, strings.IndexByte(s, 0))]
}

// Section returns the first section of that name, or nil.
func (f *File) Section(name string) *Section {
	for i := range f.Sections {
		if f.Sections[i].Name == name {
			return &f.Sections[i]
		}
	}
	return nil
}

// DebugSection returns .debug_NAME.
func (f *File) DebugSection(name string) *Section { return f.Section(".debug_" + name) }

// PLT is a procedure linkage table: a header, then entries of one size.
type PLT struct {
	Section *Section
	Header  uint64 // bytes; 0 also if it has an entry's size, as on x86-64
	Entry   uint64 // bytes
}

// .plt's (binutils bfd/elfnn-aarch64.c), in bytes.
const headerARM64 = 32

// PLTs returns the executable sections .plt, .iplt and .plt.* (.plt.sec, .plt.got).
func (f *File) PLTs() []PLT {
	var out []PLT
	for i := range f.Sections {
		s := &f.Sections[i]
		named := s.Name == ".plt" || s.Name == ".iplt" || strings.HasPrefix(s.Name, ".plt.")
		if !named || s.Flags&elf.SHF_EXECINSTR == 0 || s.Addr+s.Size < s.Addr {
			continue
		}
		t := PLT{Section: s, Entry: s.EntSize}
		if t.Entry != 8 && t.Entry != 16 && t.Entry != 24 && t.Entry != 32 {
			t.Entry = 16
		}
		if s.Name == ".plt" && f.Arch() == frames.ARM64 {
			t.Header = headerARM64
		}
		out = append(out, t)
	}
	return out
}

// FuncRange returns the bounds of the header or entry at addr; it returns false if it is outside.
func (t *PLT) FuncRange(addr uint64) (start, end uint64, ok bool) {
	off := addr - t.Section.Addr
	if off >= t.Section.Size {
		return 0, 0, false
	}
	from, size := uint64(0), t.Header
	if off >= t.Header {
		from, size = off-(off-t.Header)%t.Entry, t.Entry
	}
	return t.Section.Addr + from, t.Section.Addr + min(from+size, t.Section.Size), true
}
