// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"strings"

	"prywalk/internal/wire"
)

// SectionType is gABI's sh_type.
type SectionType uint32

// Section types.
const (
	SecProgBits SectionType = 1
	SecSymTab   SectionType = 2
	SecStrTab   SectionType = 3
	SecNote     SectionType = 7
	SecNoBits   SectionType = 8
	SecDynSym   SectionType = 11
)

// SectionFlags is gABI's sh_flags.
type SectionFlags uint64

// Section flags.
const (
	SecAlloc      SectionFlags = 2
	SecExec       SectionFlags = 4
	SecCompressed SectionFlags = 0x800
)

// Section is a section header.
type Section struct {
	Name  string
	Type  SectionType
	Flags SectionFlags
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

type sectionReader struct {
	input
	// Sections are by index, 0 the null section; empty on error.
	Sections []Section
	// sectionsErr is why Sections is incomplete.
	sectionsErr error
}

func (r *sectionReader) readSections(h *header) ([]Section, error) {
	if h.shoff == 0 {
		return nil, nil
	}
	if h.shentsize != sectionSize {
		return nil, &FormatError{"impossible size of section headers", h.shoff}
	}
	first, err := r.read(h.shoff, sectionSize, "section header 0")
	if err != nil {
		return nil, err
	}
	zero := parseSection(&wire.Cursor{Bytes: first})
	n := uint64(h.shnum)
	if n == 0 {
		n = max(zero.Size, 1) // section 0 may be there for its sh_info only
	}
	if n > maxSections {
		return []Section{zero}, &FormatError{"impossible number of section headers", h.shoff}
	}
	buf, err := r.readHeaders(h.shoff, n*sectionSize, "section headers")
	if err != nil {
		return []Section{zero}, err
	}
	c := &wire.Cursor{Bytes: buf}
	secs := make([]Section, n)
	for i := range secs {
		secs[i] = parseSection(c)
	}
	return secs, nil
}

func parseSection(c *wire.Cursor) (s Section) {
	s.nameOff, s.Type = c.U32(), SectionType(c.U32())
	s.Flags = SectionFlags(c.U64())
	s.Addr, s.Off, s.Size = c.U64(), c.U64(), c.U64()
	s.Link, s.Info = c.U32(), c.U32()
	s.Align, s.EntSize = c.U64(), c.U64()
	return s
}

func (r *sectionReader) nameSections(h *header) {
	i := uint32(h.shstrndx)
	if i == extendedIndex && len(r.Sections) > 0 {
		i = r.Sections[0].Link
	}
	if i == 0 || uint64(i) >= uint64(len(r.Sections)) {
		return
	}
	tab := &r.Sections[i]
	if tab.Type == SecNoBits || tab.Size > maxNameTable {
		r.sectionsErr = &FormatError{"table of section names unusable", tab.Off}
		return
	}
	names, err := r.readHeaders(tab.Off, tab.Size, "section names")
	if err != nil {
		r.sectionsErr = err
		return
	}
	table := string(names) // names may overlap
	for i := range r.Sections {
		r.Sections[i].Name = stringAt(table, r.Sections[i].nameOff)
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
func (r *sectionReader) Section(name string) *Section {
	for i := range r.Sections {
		if r.Sections[i].Name == name {
			return &r.Sections[i]
		}
	}
	return nil
}

// DebugSection returns .debug_NAME, or .zdebug_NAME (compressed, older).
func (r *sectionReader) DebugSection(name string) *Section {
	if s := r.Section(".debug_" + name); s != nil {
		return s
	}
	return r.Section(".zdebug_" + name)
}
