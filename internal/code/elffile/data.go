// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"prywalk/internal/base/wire"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// Browsers' DWARF sections are smaller.
const maxData = 1 << 30

// Data returns a section's contents, decompressed, counted until [File.Free]. The error is ErrNoSection (s is nil),
// errNoBits, errTooBig, a *filememory.Error or a *FormatError, perhaps wrapped, or comes from reading or decompressing.
func (f *File) Data(s *Section) ([]byte, error) { return f.data(s, maxData) }

// Free releases contents from [File.Data].
func (f *File) Free(data []byte) { f.memory.Give(int64(cap(data))) }

func (f *File) data(s *Section, limit uint64) ([]byte, error) {
	if err := f.check(s, limit); err != nil {
		return nil, err
	}
	var out []byte
	var err error
	if s.Flags&elf.SHF_COMPRESSED != 0 {
		out, err = f.decompressed(s, limit)
	} else if out, err = f.readAll(io.NewSectionReader(f.r, int64(s.Off), int64(s.Size)), s, s.Size, 0); err != nil {
		err = fmt.Errorf("reading: %w", shortRead(err))
	}
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.Name, err)
	}
	return out, nil
}

// check reports whether a section has at most limit bytes in the file.
func (f *File) check(s *Section, limit uint64) error {
	switch {
	case s == nil:
		return ErrNoSection
	case s.Type == elf.SHT_NOBITS:
		return fmt.Errorf("section %s: %w", s.Name, errNoBits)
	case s.Size > limit:
		return fmt.Errorf("section %s, %d bytes: %w", s.Name, s.Size, errTooBig)
	case !f.inFile(s.Off, s.Size):
		return &FormatError{"section " + s.Name + " beyond the end of the file", s.Off}
	}
	return nil
}

const (
	// Elf64_Chdr (gABI).
	chdrSize     = 24
	inflateChunk = 64 << 10
	// zlibScratch is a zlib reader's memory, in bytes.
	zlibScratch = 128 << 10
	// A decompressed size over anyRatio bytes must be at most maxRatio times the compressed one. Debug information has
	// ratios of 3 to 6, tables of equal numbers some dozen.
	anyRatio = 16 << 20
	maxRatio = 256
)

var errSize = errors.New("size is not as announced")

func (f *File) decompressed(s *Section, limit uint64) (out []byte, err error) {
	r := bufio.NewReaderSize(io.NewSectionReader(f.r, int64(s.Off), int64(s.Size)), inflateChunk)
	head, err := r.Peek(chdrSize)
	if err != nil {
		return nil, &FormatError{"compression header cut off", s.Off}
	}
	c := &wire.Cursor{Bytes: head}
	kind := elf.CompressionType(c.U32())
	c.U32() // ch_reserved
	size := c.U64()
	if size > limit || size > anyRatio && size/maxRatio > s.Size {
		return nil, fmt.Errorf("%d bytes decompressed to %d: %w", s.Size, size, errTooBig)
	}
	_, _ = r.Discard(chdrSize) // peeked
	switch kind {
	case elf.COMPRESS_ZLIB:
		var z io.Reader
		if z, err = zlib.NewReader(r); err == nil {
			out, err = f.readAll(z, s, size, zlibScratch)
		}
	case elf.COMPRESS_ZSTD:
		out, err = f.unzstd(r, s, size)
	default:
		err = &FormatError{fmt.Sprintf("unknown compression %d", int(kind)), s.Off}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errSize
	}
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	return out, nil
}

// A streaming encoder (elfutils) claims its level's window, longer than the contents. Level 19, the highest without
// --ultra, has 8 MiB.
const (
	maxZstdWindow     = 64 << 20
	claimedZstdWindow = 8 << 20
)

func (f *File) unzstd(r *bufio.Reader, s *Section, size uint64) ([]byte, error) {
	var frame zstd.Header
	head, _ := r.Peek(zstd.HeaderMaxSize)
	_ = frame.Decode(head) // the decoder finds the same damage
	// The limit holds for later frames, too.
	claimed := min(frame.WindowSize, claimedZstdWindow)
	most := min(uint64(maxZstdWindow), max(claimed, 1<<20, uint64(1)<<bits.Len64(size)))
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(most),
		zstd.WithDecoderMaxMemory(maxData))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return f.readAll(z, s, size, 2*int64(most)+1<<20)
}

// readAll reads size bytes; scratch is the bytes that r takes meanwhile.
func (f *File) readAll(r io.Reader, s *Section, size uint64, scratch int64) ([]byte, error) {
	if err := f.memory.Take(int64(size)+scratch, "section "+s.Name); err != nil {
		return nil, err
	}
	defer f.memory.Give(scratch)
	out := make([]byte, size)
	if _, err := io.ReadFull(r, out); err != nil {
		f.memory.Give(int64(size))
		return nil, err
	}
	return out, nil
}
