// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sort"

	"prywalk/internal/code/elffile"
)

type memory struct {
	r        io.ReaderAt
	segs     []segment // by start, without overlaps
	undumped func(addr uint64, b []byte) int
}

type segment struct {
	start, end uint64 // in memory
	off        uint64 // in the file
	dumped     uint64 // bytes in the dump, of end − start
	have       uint64 // bytes of dumped in the file; fewer if truncated
	flags      elf.ProgFlag
}

func newMemory(r io.ReaderAt, f *elffile.File) (m *memory, missing uint64) {
	m = &memory{r: r}
	for i := range f.Segments {
		s := &f.Segments[i]
		if s.Type != elf.PT_LOAD || s.VAddr+s.MemSize < s.VAddr || s.MemSize == 0 && s.FileSize == 0 {
			continue
		}
		c := segment{start: s.VAddr, end: s.VAddr + max(s.MemSize, s.FileSize), off: s.Off, dumped: s.FileSize,
			flags: s.Flags}
		if c.end < c.start || s.Off > 1<<62 || s.FileSize > 1<<62 {
			continue
		}
		if s.Off < f.Size() {
			c.have = min(s.FileSize, f.Size()-s.Off)
		}
		if s.Off+s.FileSize > f.Size() {
			missing = max(missing, s.Off+s.FileSize-f.Size())
		}
		m.segs = append(m.segs, c)
	}
	m.segs = withoutOverlaps(m.segs, func(s *segment) (start, end uint64) { return s.start, s.end })
	return m, missing
}

// withoutOverlaps sorts areas, and drops those that overlap lower ones: they are damaged.
func withoutOverlaps[T any](areas []T, bounds func(*T) (start, end uint64)) []T {
	slices.SortStableFunc(areas, func(a, b T) int {
		start, _ := bounds(&a)
		other, _ := bounds(&b)
		return cmp.Compare(start, other)
	})
	last := uint64(0)
	return slices.DeleteFunc(areas, func(a T) bool {
		start, end := bounds(&a)
		overlaps := start < last
		last = max(last, end)
		return overlaps
	})
}

func (m *memory) find(addr uint64) *segment {
	i := sort.Search(len(m.segs), func(i int) bool { return m.segs[i].start > addr })
	if i == 0 || addr >= m.segs[i-1].end {
		return nil
	}
	return &m.segs[i-1]
}

func (m *memory) read(addr uint64, b []byte) int {
	done := 0
	for done < len(b) {
		at := addr + uint64(done)
		s := m.find(at)
		if s == nil || at-s.start >= s.have {
			break
		}
		offset := at - s.start
		n, _ := m.r.ReadAt(b[done:done+int(min(uint64(len(b)-done), s.have-offset))], int64(s.off+offset))
		if done += n; n == 0 {
			break
		}
	}
	return done
}

// Word implements [frames.Memory].
func (m *memory) Word(addr uint64) (uint64, bool) {
	var b [8]byte
	n := m.read(addr, b[:])
	if n < len(b) && m.undumped != nil {
		n += m.undumped(addr+uint64(n), b[n:])
	}
	return binary.LittleEndian.Uint64(b[:]), n == len(b)
}

// Cut implements [frames.Memory]: true within the core's segments.
func (m *memory) Cut(addr uint64) bool {
	return m.find(addr) != nil && (addr+7 < addr || m.find(addr+7) != nil)
}

var errNotDumped = errors.New("the core does not hold it")
