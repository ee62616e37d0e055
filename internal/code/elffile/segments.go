// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"debug/elf"

	"prywalk/internal/base/wire"
)

// Segment is a program header.
type Segment struct {
	Type  elf.ProgType
	Flags elf.ProgFlag
	// Off and FileSize are of the contents, which may be cut (a truncated core).
	Off, FileSize uint64
	// VAddr and MemSize are in memory, before the load bias.
	VAddr, MemSize uint64
	// Align is in bytes.
	Align uint64
}

const (
	segmentSize = 56
	// PN_XNUM in e_phnum: the number is sh_info of section 0, as in large cores.
	extendedNum = 0xffff
	// A kernel maps fewer (vm.max_map_count).
	maxSegments = 1 << 20
)

func (f *File) readSegments(h *elf.Header64) ([]Segment, error) {
	n := uint64(h.Phnum)
	if n == extendedNum && len(f.Sections) > 0 {
		n = uint64(f.Sections[0].Info)
	}
	if n == 0 {
		return nil, nil
	}
	if h.Phentsize != segmentSize || n > maxSegments {
		return nil, &FormatError{"impossible size or number of program headers", h.Phoff}
	}
	buf, err := f.readHeaders(h.Phoff, n*segmentSize, "program headers")
	if err != nil {
		return nil, err
	}
	c := &wire.Cursor{Bytes: buf}
	segs := make([]Segment, n)
	for i := range segs {
		segs[i] = parseSegment(c)
	}
	return segs, nil
}

func parseSegment(c *wire.Cursor) (s Segment) {
	s.Type = elf.ProgType(c.U32())
	s.Flags = elf.ProgFlag(c.U32())
	s.Off, s.VAddr = c.U64(), c.U64()
	c.U64() // p_paddr
	s.FileSize, s.MemSize = c.U64(), c.U64()
	s.Align = c.U64()
	return s
}

func (f *File) segment(typ elf.ProgType) *Segment {
	for i := range f.Segments {
		if f.Segments[i].Type == typ {
			return &f.Segments[i]
		}
	}
	return nil
}

// DW_EH_PE_pcrel | DW_EH_PE_sdata4, the encoding of .eh_frame_hdr's pointer to .eh_frame (LSB 5.0, §10.5).
const ehPtrPCRel4 = 0x1b

// EhFrame returns .eh_frame_hdr and .eh_frame, nil if missing or without contents. Without section headers the program
// headers give them, .eh_frame with all that follows it in its segment.
func (f *File) EhFrame() (hdr, frame *Window) {
	hdr, _ = f.Window(f.Section(".eh_frame_hdr"))
	frame, _ = f.Window(f.Section(".eh_frame"))
	if s := f.segment(elf.PT_GNU_EH_FRAME); s != nil && f.Section(".eh_frame_hdr") == nil {
		hdr, _ = f.windowAt(s.VAddr, s.FileSize)
	}
	if hdr == nil || f.Section(".eh_frame") != nil {
		return hdr, frame
	}
	if b, err := hdr.View(0, 8); err == nil && b[0] == 1 && b[1] == ehPtrPCRel4 {
		c := &wire.Cursor{Bytes: b[4:]}
		frame, _ = f.windowAt(hdr.addr+4+uint64(int64(int32(c.U32()))), ^uint64(0))
	}
	return hdr, frame
}

// ReadAddr reads the contents of loaded segments at vaddr, before the load bias, and returns the number of bytes: less
// than len(buf) where no segment continues.
func (f *File) ReadAddr(vaddr uint64, buf []byte) int {
	done := 0
	for done < len(buf) {
		off, n, ok := f.locate(vaddr + uint64(done))
		if !ok {
			break
		}
		got, _ := f.r.ReadAt(buf[done:][:min(n, uint64(len(buf)-done))], int64(off))
		if got <= 0 {
			break
		}
		done += got
	}
	return done
}

// locate returns the file's offset of an address, and the number of bytes to the segment's end.
func (f *File) locate(vaddr uint64) (off, n uint64, ok bool) {
	for i := range f.Segments {
		s := &f.Segments[i]
		if s.Type != elf.PT_LOAD || vaddr-s.VAddr >= s.FileSize {
			continue
		}
		d := vaddr - s.VAddr
		off, n = s.Off+d, s.FileSize-d
		if off < s.Off || off >= f.size {
			continue
		}
		return off, min(n, f.size-off), true
	}
	return 0, 0, false
}

var pageSizes = [...]uint64{4 << 10, 16 << 10, 64 << 10}

// Bias returns run-time address − file address, modulo 2⁶⁴, of a mapping at start with file offset off; false if no
// loaded segment is at off. exec selects between segments that share a page.
func (f *File) Bias(start, off uint64, exec bool) (uint64, bool) {
	for _, sameRights := range [...]bool{true, false} {
		for _, page := range pageSizes {
			if s := f.mappedBy(off, page, exec, sameRights); s != nil {
				return start - (s.VAddr + (off - s.Off)), true
			}
		}
	}
	return 0, false
}

// mappedBy prefers a segment that begins at the mapping's file offset off.
func (f *File) mappedBy(off, page uint64, exec, sameRights bool) *Segment {
	var found *Segment
	for i := range f.Segments {
		s := &f.Segments[i]
		if s.Type != elf.PT_LOAD || s.FileSize == 0 {
			continue
		}
		if sameRights && exec != (s.Flags&elf.PF_X != 0) {
			continue
		}
		first := s.Off &^ (page - 1)
		if first == off {
			return s
		}
		if off > first && off-first < s.FileSize+(s.Off-first) {
			found = s
		}
	}
	return found
}
