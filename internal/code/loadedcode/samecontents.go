// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"prywalk/internal/code/elffile"
)

const (
	comparedFirst = 1 << 10 // bytes
	comparedBlock = 64 << 10
	maxBlocks     = 64
)

// SameContents reports whether a file of a size in bytes is the mapped one: the first KiB and the build ids are equal.
// Without both build ids the whole mapping is compared; of one above 4 MiB, some 64 blocks of 64 KiB.
func SameContents(o AddressSpace, f io.ReaderAt, size int64, m *Mapping) bool {
	mem := NewMemFile(o, m)
	if mem == nil {
		return false
	}
	c := contents{mem: mem, file: f}
	if c.differ(0, comparedFirst) {
		return false
	}
	if a, b := buildIDOf(mem, mem.Size()), buildIDOf(f, size); a != "" && b != "" {
		return a == b
	}
	mapped := m.End - m.Start
	step := max(comparedBlock, mapped/maxBlocks&^0xfff)
	for off := uint64(0); off < mapped; off += step {
		if c.differ(m.Offset+off, min(comparedBlock, mapped-off)) {
			return false
		}
	}
	return c.compared
}

func buildIDOf(r io.ReaderAt, size int64) string {
	f, err := elffile.Open(r, size)
	if err != nil {
		return ""
	}
	defer f.Release()
	return f.BuildID()
}

type contents struct {
	mem      *MemFile
	file     io.ReaderAt
	compared bool // at least one byte
	buf      [2][]byte
}

// differ reports whether memory differs from the file, whose end is followed by zeros, by more than breakpoints.
func (c *contents) differ(off, size uint64) bool {
	for i := range c.buf {
		if uint64(cap(c.buf[i])) < size {
			c.buf[i] = make([]byte, size)
		}
	}
	n, err := c.mem.ReadAt(c.buf[0][:size], int64(off))
	if err != nil && n == 0 {
		return false
	}
	c.compared = true
	a, b := c.buf[0][:n], c.buf[1][:n]
	k, err := c.file.ReadAt(b, int64(off))
	clear(b[k:])
	return err != nil && !errors.Is(err, io.EOF) || !equalButBreakpoints(a, b)
}

// equalButBreakpoints permits int3 and BRK, which debuggers and the kernel (uprobes) write to memory.
func equalButBreakpoints(mem, file []byte) bool {
	if bytes.Equal(mem, file) {
		return true
	}
	const int3, brk, brkOperand = 0xcc, 0xd4200000, 0xffff << 5
	for i := range mem {
		if mem[i] == file[i] || mem[i] == int3 {
			continue
		}
		word := mem[i&^3:]
		if len(word) < 4 || binary.LittleEndian.Uint32(word)&^brkOperand != brk {
			return false
		}
	}
	return true
}

type piece struct {
	off, size uint64 // in the file
	addr      uint64
}

// MemFile reads a file from a process's mappings of it, which lack .symtab.
type MemFile struct {
	space  AddressSpace
	pieces []piece
}

// Size returns the end of the last piece.
func (f *MemFile) Size() int64 {
	end := uint64(0)
	for _, p := range f.pieces {
		end = max(end, p.off+p.size)
	}
	return int64(end)
}

// ReadAt implements io.ReaderAt; unmapped bytes are an error.
func (f *MemFile) ReadAt(b []byte, off int64) (int, error) {
	done := 0
	for done < len(b) {
		at := uint64(off) + uint64(done)
		i := slices.IndexFunc(f.pieces, func(p piece) bool { return at-p.off < p.size })
		if i < 0 {
			return done, io.EOF
		}
		p := f.pieces[i]
		want := min(uint64(len(b)-done), p.size-(at-p.off))
		n, err := f.space.ReadMapped(p.addr+(at-p.off), b[done:done+int(want)])
		done += n
		if err != nil {
			return done, errors.Join(errReadMapped, err)
		}
	}
	return done, nil
}

var errReadMapped = errors.New("reading a file's contents in a process's memory")

const maxPieces = 4096

// NewMemFile reads the mapped parts of m's file; it returns nil if there is none. Of several loads it reads the one
// with m: mappings ascending in address and file offset.
func NewMemFile(o AddressSpace, m *Mapping) *MemFile {
	f := &MemFile{space: o}
	found, last := false, uint64(0) // whether m has passed, and the offset of the file's mapping before
	err := o.MappingsOf(m, func(r *RawMapping) {
		another := r.Offset < last // another load of the file begins
		switch {
		case r.Dev != m.Dev || r.Inode != m.Inode, found && another:
			return
		case another:
			f.pieces = f.pieces[:0]
		}
		last = r.Offset
		if found && r.Offset == 0 { // a load of one mapping
			return
		}
		found = found || r.Start == m.Start
		if len(f.pieces) < maxPieces && r.Perm&PermRead != 0 && r.Offset < 1<<62 && r.End-r.Start < 1<<62 {
			f.pieces = append(f.pieces, piece{r.Offset, r.End - r.Start, r.Start})
		}
	})
	if err != nil || !found {
		return nil
	}
	return f
}
