// SPDX-License-Identifier: Apache-2.0

package elffile

import "debug/elf"

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
