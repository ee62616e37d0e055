// SPDX-License-Identifier: Apache-2.0

package code

import (
	"strings"

	"prywalk/frames"
	"prywalk/internal/elffile"
)

// stubs are procedure linkage tables, each of which has one entry of call frame information.
type stubs []stubTable

// stubTable has entries of size bytes after a head of first bytes.
type stubTable struct{ start, end, first, size uint64 }

// pltHead is the size of .plt's head on arm64 (binutils bfd/elfnn-aarch64.c), bytes.
const pltHead = 32

func newStubs(f *elffile.File) stubs {
	var out stubs
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Name != ".plt" && !strings.HasPrefix(s.Name, ".plt.") || s.Addr+s.Size < s.Addr {
			continue
		}
		size := s.EntSize
		if size != 8 && size != 16 && size != 24 && size != 32 {
			size = 16
		}
		first := size
		if s.Name == ".plt" && f.Arch() == frames.AArch64 {
			first = pltHead
		}
		out = append(out, stubTable{s.Addr, s.Addr + s.Size, first, size})
	}
	return out
}

// FuncRange implements heuristics.Functions.
func (t stubs) FuncRange(pc uint64) (start, end uint64, ok bool) {
	for _, s := range t {
		switch {
		case pc < s.start || pc >= s.end:
		case pc-s.start < s.first:
			return s.start, s.start + s.first, true
		default:
			start = pc - (pc-s.start-s.first)%s.size
			return start, start + s.size, true
		}
	}
	return 0, 0, false
}
