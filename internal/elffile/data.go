// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"

	"prywalk/internal/wire"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// Browsers' DWARF sections are smaller.
const maxData = 1 << 30

// Values of ch_type (gABI).
const (
	compressZlib = 1
	compressZstd = 2
	// "ZLIB" and a big-endian size (GNU, before SHF_COMPRESSED).
	zdebugHeader = 12
)

func (s *Section) compressed() bool {
	return s.Flags&SecCompressed != 0 || strings.HasPrefix(s.Name, ".zdebug_")
}

// Data returns a section's contents, decompressed, counted until [File.Free]. The error is ErrNoSection (s is nil),
// errNoBits, errTooBig, a *filememory.Error or a *FormatError, perhaps wrapped, or comes from reading or decompressing.
func (f *sectionReader) Data(s *Section) ([]byte, error) { return f.data(s, maxData) }

// Free releases contents from [File.Data].
func (f *sectionReader) Free(data []byte) { f.memory.Give(int64(cap(data))) }

func (f *sectionReader) data(s *Section, limit uint64) ([]byte, error) {
	if s == nil {
		return nil, ErrNoSection
	}
	if s.Type == SecNoBits {
		return nil, fmt.Errorf("section %s: %w", s.Name, errNoBits)
	}
	if s.Size > limit {
		return nil, fmt.Errorf("section %s, %d bytes: %w", s.Name, s.Size, errTooBig)
	}
	if !f.inFile(s.Off, s.Size) {
		return nil, &FormatError{"section " + s.Name + " beyond the end of the file", s.Off}
	}
	c, err := f.contents(s, limit)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.Name, err)
	}
	out, err := f.readAll(c, "section "+s.Name)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.Name, err)
	}
	return out, nil
}

type contents struct {
	io.Reader
	size    uint64
	scratch int64  // bytes; 0: not compressed
	close   func() // may be nil
}

func (f *sectionReader) contents(s *Section, limit uint64) (contents, error) {
	raw := func(skip uint64) *bufio.Reader {
		return bufio.NewReaderSize(io.NewSectionReader(f.r, int64(s.Off+skip), int64(s.Size-skip)), inflateChunk)
	}
	plain := contents{Reader: io.NewSectionReader(f.r, int64(s.Off), int64(s.Size)), size: s.Size}
	if !s.compressed() {
		return plain, nil
	}
	var head [chdrSize]byte
	n := min(s.Size, chdrSize)
	if got, err := f.r.ReadAt(head[:n], int64(s.Off)); uint64(got) < n {
		return plain, fmt.Errorf("reading: %w", shortRead(err))
	}
	if s.Flags&SecCompressed == 0 {
		if n < zdebugHeader || string(head[:4]) != "ZLIB" {
			return plain, nil // not compressed
		}
		return unzlib(raw(zdebugHeader), s.Size, binary.BigEndian.Uint64(head[4:]), limit)
	}
	c := &wire.Cursor{Bytes: head[:n]}
	kind := c.U32()
	c.U32() // ch_reserved
	size := c.U64()
	c.U64() // ch_addralign
	switch {
	case c.Bad:
		return plain, &FormatError{"compression header cut off", s.Off}
	case kind == compressZlib:
		return unzlib(raw(chdrSize), s.Size, size, limit)
	case kind == compressZstd:
		return unzstd(raw(chdrSize), s.Size, size, limit)
	}
	return plain, &FormatError{fmt.Sprintf("unknown compression %d", kind), s.Off}
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

func checkSize(compressed, size, limit uint64) error {
	if size > limit || size > anyRatio && size/maxRatio > compressed {
		return fmt.Errorf("%d bytes decompressed to %d: %w", compressed, size, errTooBig)
	}
	return nil
}

func unzlib(raw io.Reader, compressed, size, limit uint64) (contents, error) {
	if err := checkSize(compressed, size, limit); err != nil {
		return contents{}, err
	}
	z, err := zlib.NewReader(raw)
	if err != nil {
		return contents{}, fmt.Errorf("decompressing: %w", err)
	}
	return contents{Reader: z, size: size, scratch: zlibScratch}, nil
}

// A streaming encoder (elfutils) claims its level's window, longer than the contents. Level 19, the highest without
// --ultra, has 8 MiB.
const (
	maxZstdWindow     = 64 << 20
	claimedZstdWindow = 8 << 20
)

func unzstd(raw *bufio.Reader, compressed, size, limit uint64) (contents, error) {
	if err := checkSize(compressed, size, limit); err != nil {
		return contents{}, err
	}
	var frame zstd.Header
	head, _ := raw.Peek(zstd.HeaderMaxSize)
	_ = frame.Decode(head) // the decoder finds the same damage
	// The limit holds for later frames, too.
	claimed := min(frame.WindowSize, claimedZstdWindow)
	most := min(uint64(maxZstdWindow), max(claimed, 1<<20, uint64(1)<<bits.Len64(size)))
	z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(most),
		zstd.WithDecoderMaxMemory(maxData))
	if err != nil {
		return contents{}, fmt.Errorf("decompressing: %w", err)
	}
	return contents{Reader: z, size: size, scratch: 2*int64(most) + 1<<20, close: z.Close}, nil
}

var errSize = errors.New("decompressing: size is not as announced")

func (f *sectionReader) readAll(c contents, what string) ([]byte, error) {
	if c.close != nil {
		defer c.close()
	}
	if err := f.memory.Take(int64(c.size)+c.scratch, what); err != nil {
		return nil, err
	}
	defer f.memory.Give(c.scratch)
	out := make([]byte, c.size)
	_, err := io.ReadFull(c, out)
	if err == nil {
		return out, nil
	}
	f.memory.Give(int64(c.size))
	switch {
	case c.scratch == 0:
		return nil, fmt.Errorf("reading: %w", shortRead(err))
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errSize
	}
	return nil, fmt.Errorf("decompressing: %w", err)
}
