package profile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/pprof/profile"
)

// MaxSize is the most bytes of an uncompressed profile that Read accepts.
const MaxSize = 1 << 29

// maxLegacy is the most bytes for which the old text and binary formats are tried;
// they have no length fields, so that trying costs time.
const maxLegacy = 1 << 24

// maxMessages bounds the entries of a profile: two bytes of input can become an
// entry of some hundred bytes in memory.
const maxMessages = 1 << 25

// What Read can find wrong with a file.
var (
	// ErrEmpty: there are no bytes at all.
	ErrEmpty = errors.New("the file is empty: the recording was not finished, or is elsewhere")
	// ErrTruncated: the file ends early.
	ErrTruncated = errors.New("the file is cut short: copy it again, or take an earlier checkpoint")
	// ErrTooLarge: over MaxSize, or too many entries.
	ErrTooLarge = errors.New("the profile is too large: record with --aggregate, or for a shorter time")
	// ErrFormat: it is not a pprof profile.
	ErrFormat = errors.New("not a pprof profile")
)

// ReadFile reads a pprof profile, prywalk's or another tool's; "-" is the standard
// input.
func ReadFile(path string) (*profile.Profile, error) {
	if path == "-" {
		p, err := Read(os.Stdin)
		return p, wrapRead("the standard input", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := Read(f)
	return p, wrapRead(path, err)
}

func wrapRead(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot read %s: %w", path, err)
}

// Read reads a pprof profile, compressed or not. Errors are, or wrap, the ones
// above; no input makes it panic or take memory without bound.
func Read(r io.Reader) (p *profile.Profile, err error) {
	data, err := uncompressed(r)
	if err != nil {
		return nil, err
	}
	if err := recognise(data); err != nil {
		return nil, err
	}
	wellFormed, err := scan(data)
	if err != nil {
		return nil, err
	}
	if !wellFormed && len(data) > maxLegacy {
		return nil, ErrFormat
	}
	return parse(data)
}

// parse hands over to the library, whose decoder was not written for hostile input.
func parse(data []byte) (p *profile.Profile, err error) {
	defer func() {
		if x := recover(); x != nil {
			p, err = nil, fmt.Errorf("%w: damaged (%v)", ErrFormat, x)
		}
	}()
	p, err = profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if len(p.SampleType) == 0 {
		return nil, fmt.Errorf("%w: it names no type of values", ErrFormat)
	}
	return p, nil
}

// uncompressed reads all of r, at most MaxSize after decompression.
func uncompressed(r io.Reader) ([]byte, error) {
	data, err := limited(r)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, ErrEmpty
	}
	if len(data) < 2 || data[0] != 0x1f || data[1] != 0x8b {
		return data, nil
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, gzipError(err)
	}
	data, err = limited(zip)
	if err != nil {
		return nil, gzipError(err)
	}
	if len(data) == 0 {
		return nil, ErrEmpty
	}
	return data, nil
}

func gzipError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return ErrTruncated
	case errors.Is(err, ErrTooLarge):
		return err
	}
	return fmt.Errorf("%w: its compression is damaged (%w)", ErrFormat, err)
}

func limited(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err == nil && len(data) > MaxSize {
		err = ErrTooLarge
	}
	return data, err
}
