// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"strings"
	"testing"
)

// It fails after a number of bytes.
type sparse struct {
	head []byte
	size int64
	left int
}

// ReadAt implements io.ReaderAt.
func (s *sparse) ReadAt(b []byte, off int64) (int, error) {
	if s.left -= len(b); s.left < 0 {
		return 0, errors.New("too many bytes are read")
	}
	clear(b)
	if off < int64(len(s.head)) {
		copy(b, s.head[off:])
	}
	if off+int64(len(b)) > s.size {
		return int(max(0, s.size-off)), io.EOF
	}
	return len(b), nil
}

const hole = 1 << 40 // bytes

func openSparse(t *testing.T, m *image, most int) (*File, *sparse) {
	t.Helper()
	s := &sparse{m.bytes(), hole, most}
	f, err := Open(s, s.size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Release)
	return f, s
}

func TestHolesAreNotReadAsNotes(t *testing.T) {
	m := newImage()
	for range 8 {
		m.segs = append(m.segs, Segment{Type: elf.PT_NOTE, Off: 1 << 20, FileSize: hole / 2})
	}
	f, s := openSparse(t, m, 1<<30)
	if id := f.BuildID(); id != "" || s.left < 0 {
		t.Errorf("build id %q; %d bytes left to read, want some", id, s.left)
	}
}

func TestHolesAreNotSearchedForNames(t *testing.T) {
	m := newImage()
	str := m.add(Section{Name: ".strtab", Type: elf.SHT_STRTAB, Off: 1 << 20, Size: hole / 2}, nil)
	m.add(Section{Name: ".symtab", Type: elf.SHT_SYMTAB, Link: uint32(str)}, make([]byte, 3*symbolSize))
	f, s := openSparse(t, m, 2<<30)
	f.EachNamed(SymTab, []string{"main"}, func(int, *Symbol) bool { return true })
	if s.left < 0 {
		t.Error("the whole string table is read")
	}
}

func TestHolesHaveNoChecksum(t *testing.T) {
	m := newImage()
	m.add(Section{Name: ".gnu_debuglink", Type: elf.SHT_PROGBITS}, []byte("x.debug\x00abcd"))
	f := openBytes(t, m.bytes())
	debug, s := openSparse(t, newImage(), 1<<30)
	if err := f.checkDebug(debug, s, s.size); !errors.Is(err, errTooBig) || s.left < 0 {
		t.Errorf("error %v, want %v; %d bytes left to read, want some", err, errTooBig, s.left)
	}
}

func TestWindowLimitHoldsForPlainSections(t *testing.T) {
	m := newImage()
	m.add(Section{Name: ".debug_frame", Type: elf.SHT_PROGBITS}, make([]byte, 100))
	f := openBytes(t, m.bytes())
	if _, err := f.WindowUpTo(f.DebugSection("frame"), 99); !errors.Is(err, errTooBig) {
		t.Errorf("error %v, want %v", err, errTooBig)
	}
	if _, err := f.WindowUpTo(f.DebugSection("frame"), 100); err != nil {
		t.Error(err)
	}
}

func TestNamesOfSectionsShareTheirTable(t *testing.T) {
	const sections = 1 << 14
	m := newImage()
	m.add(Section{Name: strings.Repeat("x", maxName-1), Type: elf.SHT_PROGBITS}, nil)
	for range sections {
		m.add(Section{Type: elf.SHT_PROGBITS}, nil)
	}
	b := m.bytes()
	shoff := len(b) - len(m.secs)*sectionSize
	for i := range m.secs { // all have the long name
		copy(b[shoff+i*sectionSize:], []byte{2, 0, 0, 0})
	}
	got := allocated(func() {
		f, err := Open(bytes.NewReader(b), int64(len(b)))
		if err != nil || len(f.Sections) < sections || len(f.Sections[sections].Name) != maxName-1 {
			t.Errorf("%v, want %d sections with the long name", err, sections)
		}
	})
	if got > sections*maxName/4 {
		t.Errorf("%d bytes allocated, want less than a quarter of the names' %d", got, sections*maxName)
	}
}
