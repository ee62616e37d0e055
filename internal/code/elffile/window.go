// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"

	"prywalk/internal/host/filememory"
)

const (
	blockBits = 16
	blockSize = 1 << blockBits
	// A block reaches so far into the next one, in bytes.
	overlap      = 4 << 10
	windowBlocks = 64
)

// Window reads a part of a file on demand, with a direct-mapped cache of blocks.
type Window struct {
	addr, off, size uint64
	r               io.ReaderAt
	whole           []byte // nil if it is read on demand
	memory          *filememory.Account
	blocks          [windowBlocks]block
	spare           block
}

// num counts from 1, 0 is none.
type block struct {
	num  uint64
	data []byte
}

// Addr is the first byte's, before the load bias; 0 if not loaded.
func (w *Window) Addr() uint64 { return w.addr }

// Size returns the number of bytes; 0 of nil.
func (w *Window) Size() uint64 {
	if w == nil {
		return 0
	}
	return w.size
}

// InMemory returns a window of data, which must not change.
func InMemory(data []byte) *Window { return &Window{size: uint64(len(data)), whole: data} }

// CString returns the string at off up to a NUL byte, the window's end or so many bytes; nil if it cannot be read.
func (w *Window) CString(off, most uint64) []byte {
	if off >= w.Size() {
		return nil
	}
	for n := uint64(256); ; n *= 8 {
		n = min(n, w.size-off, most)
		b, err := w.View(off, int(n))
		if err != nil {
			return nil
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return b[:i]
		}
		if n == w.size-off || n == most {
			return b
		}
	}
}

// View returns n bytes at off, read-only, which stay valid. Only views beyond a block and its overlap are copies.
func (w *Window) View(off uint64, n int) ([]byte, error) {
	if n < 0 || off > w.size || uint64(n) > w.size-off {
		return nil, &FormatError{"reference beyond the end of a section", w.off + off}
	}
	if n == 0 {
		return []byte{}, nil
	}
	if w.whole != nil {
		return w.whole[off : off+uint64(n) : off+uint64(n)], nil
	}
	in := off & (blockSize - 1)
	if in+uint64(n) > blockSize+overlap {
		if n > maxData {
			return nil, fmt.Errorf("view of %d bytes: %w", n, errTooBig)
		}
		buf := make([]byte, n)
		if got, err := w.r.ReadAt(buf, int64(w.off+off)); got < n {
			return nil, fmt.Errorf("reading a section: %w", shortRead(err))
		}
		return buf, nil
	}
	b := w.block(off >> blockBits)
	if b.num != off>>blockBits+1 {
		if err := w.load(b, off>>blockBits); err != nil {
			return nil, err
		}
	}
	if in+uint64(n) > uint64(len(b.data)) {
		return nil, fmt.Errorf("reading a section: %w", io.ErrUnexpectedEOF)
	}
	return b.data[in : in+uint64(n) : in+uint64(n)], nil
}

// block returns the slot of a block, which may have another one.
func (w *Window) block(num uint64) *block {
	b := &w.blocks[num%windowBlocks]
	if b.num == 0 && (w.spare.num == num+1 || !w.memory.TakeSpare(blockSize+overlap)) {
		return &w.spare
	}
	return b
}

// shortString returns the string at off of a table, nil if it is not shorter than buf, into which it may be read:
// without a block, for strings that are not asked for in their order.
func (w *Window) shortString(off uint64, buf []byte) []byte {
	if off >= w.size {
		return nil
	}
	n := min(uint64(len(buf)), w.size-off)
	if w.whole != nil {
		buf = w.whole[off:]
	} else if got, _ := w.r.ReadAt(buf[:n], int64(w.off+off)); uint64(got) < n {
		return nil
	}
	if i := bytes.IndexByte(buf[:n], 0); i >= 0 {
		return buf[:i]
	}
	if off+n == w.size { // the table's end is a string's, too
		return buf[:n]
	}
	return nil
}

// load allocates new memory, as views of the old one may be in use.
func (w *Window) load(b *block, num uint64) error {
	start := num << blockBits
	buf := make([]byte, min(blockSize+overlap, w.size-start))
	n, err := w.r.ReadAt(buf, int64(w.off+start))
	if n == 0 && err != nil {
		return fmt.Errorf("reading a section: %w", err)
	}
	*b = block{num + 1, buf[:n]}
	return nil
}

// Window returns a section's contents, read on demand or decompressed as a whole. Errors as of Data.
func (f *File) Window(s *Section) (*Window, error) {
	if s != nil && s.Flags&elf.SHF_COMPRESSED == 0 {
		return f.WindowUpTo(s, s.Size)
	}
	return f.WindowUpTo(s, maxData)
}

// WindowUpTo is Window for at most limit bytes, compressed or not (errTooBig).
func (f *File) WindowUpTo(s *Section, limit uint64) (*Window, error) {
	if s != nil && s.Flags&elf.SHF_COMPRESSED != 0 {
		data, err := f.data(s, limit)
		if err != nil {
			return nil, err
		}
		return &Window{addr: s.Addr, size: uint64(len(data)), whole: data}, nil
	}
	if err := f.check(s, limit); err != nil {
		return nil, err
	}
	return &Window{addr: s.Addr, off: s.Off, size: s.Size, r: f.r, memory: f.memory}, nil
}

// windowAt returns at most n bytes. ErrNoSection: no loaded segment has them.
func (f *File) windowAt(vaddr, n uint64) (*Window, error) {
	off, left, ok := f.locate(vaddr)
	if !ok {
		return nil, fmt.Errorf("address %#x: %w", vaddr, ErrNoSection)
	}
	return &Window{addr: vaddr, off: off, size: min(n, left), r: f.r, memory: f.memory}, nil
}
