package target

import (
	"strings"

	"prywalk/internal/elffile"
)

// stubs are the procedure linkage tables of a file. One entry of the call frame
// information covers such a table, but each of its stubs is called for itself.
type stubs []stubTable

// stubTable holds stubs of equal size.
type stubTable struct{ start, end, size uint64 }

// newStubs finds .plt, .plt.sec and .plt.got.
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
		out = append(out, stubTable{s.Addr, s.Addr + s.Size, size})
	}
	return out
}

// FuncRange gives the bounds of the stub that pc is in.
func (t stubs) FuncRange(pc uint64) (start, end uint64, ok bool) {
	for _, s := range t {
		if pc >= s.start && pc < s.end {
			start = pc - (pc-s.start)%s.size
			return start, start + s.size, true
		}
	}
	return 0, 0, false
}
