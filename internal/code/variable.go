package code

import (
	"prywalk/frames"
	"prywalk/internal/elffile"
)

// ImageAt gives the image whose data or code an address of a process lies in, and the address in the image's own terms;
// nil if it lies in none that runs code. Memory that was mapped anew over a file's is taken for the file's.
func ImageAt(space *frames.Space, addr uint64) (*Image, uint64) {
	for _, m := range space.Modules() {
		at, ok := m.Data.(*Mapping)
		if !ok || at.Image == nil || at.Image.ELF == nil {
			continue
		}
		for i := range at.Image.ELF.Segments {
			s := &at.Image.ELF.Segments[i]
			if s.Type == elffile.SegLoad && addr-m.Bias-s.VAddr < s.MemSize {
				return at.Image, addr - m.Bias
			}
		}
	}
	return nil, 0
}
