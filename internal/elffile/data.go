package elffile

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"prywalk/internal/wire"

	"github.com/klauspost/compress/zstd"
)

// MaxData is the limit of a section's size in bytes, after decompression, that
// Data reads. The largest DWARF sections of browsers are below it.
const MaxData = 1 << 30

// Compression types of SHF_COMPRESSED sections (gABI, ch_type).
const (
	compressZlib = 1
	compressZstd = 2
	// zdebugHeader is "ZLIB" and the size, big-endian (an old GNU convention).
	zdebugHeader = 12
)

// compressed reports whether the contents in the file are compressed.
func (s *Section) compressed() bool {
	return s.Flags&SecCompressed != 0 || strings.HasPrefix(s.Name, ".zdebug_")
}

// Data gives a section's contents, decompressed. The error is ErrNoSection (s is
// nil), ErrNoBits, ErrTooBig (over MaxData) or a *FormatError, perhaps wrapped, or
// comes from reading or decompressing.
func (f *File) Data(s *Section) ([]byte, error) { return f.data(s, MaxData) }

// data is Data with a limit of its own.
func (f *File) data(s *Section, limit uint64) ([]byte, error) {
	if s == nil {
		return nil, ErrNoSection
	}
	if s.Type == SecNoBits {
		return nil, fmt.Errorf("section %s: %w", s.Name, ErrNoBits)
	}
	if s.Size > limit {
		return nil, fmt.Errorf("section %s, %d bytes: %w", s.Name, s.Size, ErrTooBig)
	}
	raw, err := f.read(s.Off, s.Size, "section "+s.Name)
	if err != nil || !s.compressed() {
		return raw, err
	}
	out, err := s.inflate(raw, limit)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.Name, err)
	}
	return out, nil
}

// inflate decompresses a section in either of the two conventions.
func (s *Section) inflate(raw []byte, limit uint64) ([]byte, error) {
	if s.Flags&SecCompressed == 0 {
		if len(raw) < zdebugHeader || string(raw[:4]) != "ZLIB" {
			return raw, nil // by the convention, not compressed after all
		}
		return unzlib(raw[zdebugHeader:], binary.BigEndian.Uint64(raw[4:]), limit)
	}
	c := &wire.Cursor{Bytes: raw}
	kind := c.U32()
	c.U32() // ch_reserved
	size := c.U64()
	c.U64() // ch_addralign
	switch {
	case c.Bad:
		return nil, &FormatError{"compression header cut off", s.Off}
	case kind == compressZlib:
		return unzlib(c.Rest(), size, limit)
	case kind == compressZstd:
		return unzstd(c.Rest(), size, limit)
	}
	return nil, &FormatError{fmt.Sprintf("unknown compression %d", kind), s.Off}
}

func unzlib(raw []byte, size, limit uint64) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	return readSized(z, size, limit)
}

// maxZstdWindow bounds the history that a zstd frame makes its reader keep, in
// bytes. Level 19, the highest without --ultra, uses 8 MiB.
const maxZstdWindow = 64 << 20

func unzstd(raw []byte, size, limit uint64) ([]byte, error) {
	z, err := zstd.NewReader(bytes.NewReader(raw), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow),
		zstd.WithDecoderMaxMemory(MaxData))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	defer z.Close()
	return readSized(z, size, limit)
}

// errSize: the contents do not have the size that the header says.
var errSize = errors.New("decompressing: size is not as announced")

// readSized reads exactly size bytes of decompressed data. The buffer grows with
// what is read, because the size is only claimed.
func readSized(r io.Reader, size, limit uint64) ([]byte, error) {
	if size > limit {
		return nil, fmt.Errorf("decompressed size of %d bytes: %w", size, ErrTooBig)
	}
	var out bytes.Buffer
	out.Grow(int(min(size, readChunk)))
	n, err := io.Copy(&out, io.LimitReader(r, int64(size)))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	if uint64(n) != size {
		return nil, errSize
	}
	return out.Bytes(), nil
}
