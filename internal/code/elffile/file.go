// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"prywalk/frames"
	"prywalk/internal/host/filememory"
)

// Elf64_Ehdr has so many bytes (gABI, figure 4-4).
const headerSize = 64

// File is an open ELF file. The exported fields are read-only.
type File struct {
	Type elf.Type
	// Entry is the address of the first instruction; 0 if none.
	Entry uint64
	// Segments are in the file's order.
	Segments []Segment
	// Sections are by index, 0 the null section. If the others are unreadable there is at most that one; if the names
	// are, all names are "".
	Sections []Section

	r            io.ReaderAt
	size         uint64
	memory       *filememory.Account
	headerMemory int64 // bytes
	arch         frames.Arch
	symbols      [2]symbolSource
}

// Open reads the headers of the size bytes in r, which must stay usable. The error is ErrNotELF, ErrClass32, ErrMachine
// or a *FormatError, perhaps wrapped, or comes from r. Memory is of prywalk's budget.
func Open(r io.ReaderAt, size int64) (*File, error) { return openIn(nil, r, size) }

// openIn is Open with a budget, prywalk's own if that is nil. Parts that exceed it are missing.
func openIn(mem *filememory.Budget, r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: r, size: uint64(max(size, 0)), memory: mem.Account("a file")}
	if err := f.open(); err != nil {
		f.Release()
		return nil, err
	}
	return f, nil
}

func (f *File) open() error {
	h, err := f.readHeader()
	if err != nil {
		return err
	}
	f.Sections = f.readSections(h)
	if f.Segments, err = f.readSegments(h); err != nil {
		return err
	}
	f.nameSections(h)
	f.headerMemory = f.memory.Used()
	return nil
}

// Memory is the account of the file and of tables made of it.
func (f *File) Memory() *filememory.Account { return f.memory }

// Reopen opens the same file for another goroutine, with the same reader.
func (f *File) Reopen() (*File, error) { return openIn(f.memory.Budget(), f.r, int64(f.size)) }

// Release frees the memory of the file, which is invalid afterwards.
func (f *File) Release() {
	if f != nil {
		f.memory.Close()
	}
}

// FreeContents frees all but the headers, to be read again on demand. Tables made of the file become invalid.
func (f *File) FreeContents() {
	f.symbols = [len(f.symbols)]symbolSource{}
	f.memory.Give(f.memory.Used() - f.headerMemory)
}

// FreeAll is FreeContents with the headers. The file is not used again.
func (f *File) FreeAll() {
	f.Sections, f.Segments, f.headerMemory = nil, nil, 0
	f.FreeContents()
}

// Arch returns the file's processor architecture.
func (f *File) Arch() frames.Arch { return f.arch }

// Size returns the file's size in bytes.
func (f *File) Size() uint64 { return f.size }

func (f *File) readHeader() (*elf.Header64, error) {
	var buf [headerSize]byte
	n, err := f.r.ReadAt(buf[:min(headerSize, f.size)], 0)
	if n < 6 || string(buf[:4]) != elf.ELFMAG {
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("reading the ELF header: %w", err)
		}
		return nil, ErrNotELF
	}
	if buf[4] != byte(elf.ELFCLASS64) {
		return nil, ErrClass32
	}
	if buf[5] != byte(elf.ELFDATA2LSB) {
		return nil, fmt.Errorf("%w (not little-endian)", ErrMachine)
	}
	if n < headerSize {
		return nil, &FormatError{"header cut off", 0}
	}
	var h elf.Header64
	_, _ = binary.Decode(buf[:], binary.LittleEndian, &h) // as large as buf
	f.Type, f.Entry = elf.Type(h.Type), h.Entry
	switch elf.Machine(h.Machine) {
	case elf.EM_X86_64:
		f.arch = frames.X86_64
	case elf.EM_AARCH64:
		f.arch = frames.ARM64
	default:
		return nil, fmt.Errorf("%w (e_machine %d)", ErrMachine, h.Machine)
	}
	return &h, nil
}

func (f *File) inFile(off, n uint64) bool {
	return off <= f.size && n <= f.size-off
}

const headerCost = 4 // bytes of memory for each byte of headers in the file

func (f *File) readHeaders(off, n uint64, what string) ([]byte, error) {
	if !f.inFile(off, n) {
		return nil, &FormatError{what + " beyond the end of the file", off}
	}
	if err := f.memory.Take(int64(headerCost*n), what); err != nil {
		return nil, err
	}
	out := make([]byte, n)
	if got, err := f.r.ReadAt(out, int64(off)); uint64(got) < n {
		return nil, fmt.Errorf("reading %s: %w", what, shortRead(err))
	}
	return out, nil
}

func shortRead(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Errors for [errors.Is].
var (
	// ErrNotELF means that the file does not begin as ELF files do.
	ErrNotELF = errors.New("not an ELF file")
	// ErrClass32 means a 32-bit file, x32 included.
	ErrClass32 = errors.New("32-bit ELF files are not supported")
	// ErrMachine means another processor, or big-endian.
	ErrMachine = errors.New("ELF file for an unsupported processor")
	// ErrNoSection means that there is no such section.
	ErrNoSection = errors.New("no such section")
	// errNoBits means that the contents are in another file, from which debug information was split.
	errNoBits = errors.New("section without contents in this file")
	// errTooBig means a size over a limit of this package.
	errTooBig = errors.New("larger than the limit")
)

// FormatError is a violation of the ELF format.
type FormatError struct {
	// What is the part and the violation.
	What string
	// Off is the part's file offset.
	Off uint64
}

// Error implements error.
func (e *FormatError) Error() string {
	return fmt.Sprintf("malformed ELF file: %s at offset %#x", e.What, e.Off)
}
