// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"debug/elf"
	"strings"

	"prywalk/frames"
)

// PLT is a procedure linkage table: a header, then entries of one size.
type PLT struct {
	*Section
	Header uint64 // bytes; 0 also if it has an entry's size, as on x86-64
	Entry  uint64 // bytes
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

// Range returns the bounds of the header or entry at addr; false: it is outside.
func (t *PLT) Range(addr uint64) (start, end uint64, ok bool) {
	off := addr - t.Addr
	if off >= t.Size {
		return 0, 0, false
	}
	from, size := uint64(0), t.Header
	if off >= t.Header {
		from, size = off-(off-t.Header)%t.Entry, t.Entry
	}
	return t.Addr + from, t.Addr + min(from+size, t.Size), true
}
