// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

// Viewer returns bytes of a section, which never change and stay valid.
type Viewer interface {
	View(off uint64, n int) ([]byte, error)
}

// Section is a section of an ELF file. The zero value stands for none.
type Section struct {
	Addr uint64 // in the file's address space
	Size uint64 // in bytes
	Data Viewer
}

func (s *Section) present() bool { return s.Data != nil && s.Size > 0 }

// view returns n bytes at off; nil if they cannot be read.
func (s *Section) view(off uint64, n int) []byte {
	if off > s.Size || uint64(n) > s.Size-off {
		return nil
	}
	b, err := s.Data.View(off, n)
	if err != nil {
		return nil
	}
	return b
}

// Readers with a window give so many bytes without a copy.
const viewSize = 4 << 10

func (s *Section) viewAt(off uint64) []byte {
	if off >= s.Size {
		return nil
	}
	return s.view(off, int(min(viewSize, s.Size-off)))
}
