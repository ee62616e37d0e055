// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"errors"
	"io"
	"slices"
)

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

// NewMemFile reads the mapped parts of m's file; nil: none. Of several loads it reads the one with m: mappings
// ascending in address and file offset.
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
