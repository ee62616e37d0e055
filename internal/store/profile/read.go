// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"syscall"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/base/protobuf"
	"prywalk/internal/host/filememory"
)

// maxSize bounds an uncompressed profile, bytes: some 40 million intervals, if the budget has room for them.
const maxSize = 1 << 32

// maxLegacy bounds files in the old formats, bytes: they parse slowly.
const maxLegacy = 1 << 24

// maxSampleFields bounds a sample's locations and labels, without those in a packed list.
const maxSampleFields = 1 << 16

var (
	// errEmpty reports a file of no bytes.
	errEmpty = errors.New("the file is empty: the recording was not finished, or is elsewhere")
	// errTruncated reports a file that ends early.
	errTruncated = errors.New("the file is cut short: copy it again, or take an earlier checkpoint")
	// errTooLarge reports a file over maxSize, one that needs too much memory, or a sample with too many fields.
	errTooLarge = errors.New("the profile is too large: record with --aggregate, or for a shorter time")
	// ErrFormat reports a file that is not a pprof profile.
	ErrFormat = errors.New("not a pprof profile")
)

// ReadFile reads a pprof profile of any tool; "-" is standard input.
func ReadFile(path string) (*pprof.Profile, error) {
	p, memory, err := readFile(path)
	memory.Close()
	return p, err
}

// ReadCharged is [ReadFile] whose memory stays charged to the budget.
func ReadCharged(path string) (*pprof.Profile, error) {
	p, _, err := readFile(path)
	return p, err
}

func readFile(path string) (*pprof.Profile, *filememory.Account, error) {
	if path == "-" {
		p, memory, err := readStream(os.Stdin)
		return p, memory, wrapRead("the standard input", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !st.Mode().IsRegular() {
		p, memory, err := readStream(f)
		return p, memory, wrapRead(path, err)
	}
	raiseBudget(bytesOnDisk(st))
	memory := filememory.Process().AccountOfWhole("the profile")
	p, err := readFrom(f, st.Size(), memory)
	return p, memory, wrapRead(path, err)
}

func wrapRead(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot read %s: %w", path, err)
}

// memoryPerByte is the default budget's least, per byte on disk of all profiles. Recordings take 20 to 70, most with
// many similar short-lived threads.
const memoryPerByte = 128

// raiseBudget also raises the Go runtime's limit, beyond which it would collect all the time.
func raiseBudget(bytes int64) {
	budget := filememory.Process()
	budget.RaiseFor(memoryPerByte * bytes)
	if total := budget.Total(); total > debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(total)
	}
}

func bytesOnDisk(st os.FileInfo) int64 { return min(st.Size(), 512*st.Sys().(*syscall.Stat_t).Blocks) }

// Read reads a pprof profile, compressed or not. Errors of the format wrap those above. No input causes a panic or
// exceeds the bounds.
func Read(r io.Reader) (*pprof.Profile, error) {
	p, memory, err := readStream(r)
	memory.Close()
	return p, err
}

func readStream(r io.Reader) (*pprof.Profile, *filememory.Account, error) {
	memory := filememory.Process().AccountOfWhole("the profile")
	data, err := readAll(r, memory)
	if err != nil {
		return nil, memory, err
	}
	raiseBudget(int64(len(data)))
	whole := memory.Used()
	p, err := readFrom(bytes.NewReader(data), int64(len(data)), memory)
	if err == nil {
		memory.Give(whole)
	}
	return p, memory, err
}

func readAll(r io.Reader, memory *filememory.Account) ([]byte, error) {
	taken := int64(0)
	var out []byte
	for {
		if len(out) == cap(out) {
			more := max(64<<10, int64(cap(out)))
			if err := memory.Take(more, "contents"); err != nil {
				memory.Give(taken)
				return nil, tooLarge(err)
			}
			taken += more
			out = slices.Grow(out, int(more))
		}
		n, err := r.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			memory.Give(taken)
			return nil, err
		}
	}
}

// On success what the profile takes stays charged.
func readFrom(r io.ReaderAt, size int64, memory *filememory.Account) (p *pprof.Profile, err error) {
	temporary := int64(0)
	defer func() {
		if err != nil {
			memory.Close()
			return
		}
		memory.Give(temporary)
	}()
	data, err := uncompressed(io.NewSectionReader(r, 0, size), memory)
	if err != nil {
		return nil, err
	}
	if whole, cut := scan(data); !whole {
		if err := otherFormat(data); err != nil {
			return nil, err
		}
		if cut {
			return nil, errTruncated
		}
	}
	c := costOf(data)
	if c.fieldsExceeded {
		return nil, errTooLarge
	}
	length := int64(len(data))
	if c.ok {
		if err := memory.Take(c.ownDecoder+length, "contents"); err != nil {
			return nil, tooLarge(err)
		}
		temporary = 2 * length // data, and the copy without stacks and labels
		return parse(func() (*pprof.Profile, error) { return decode(data, &c, memory) })
	}
	if length > maxLegacy {
		return nil, ErrFormat
	}
	if err := memory.Take(c.pprofDecoder+textFactor*length, "contents"); err != nil {
		return nil, tooLarge(err)
	}
	temporary = length
	return parse(func() (*pprof.Profile, error) { return pprof.ParseData(data) })
}

func tooLarge(err error) error { return fmt.Errorf("%w; %w", errTooLarge, err) }

// parse returns a decoder's panics and errors as [ErrFormat].
func parse(read func() (*pprof.Profile, error)) (p *pprof.Profile, err error) {
	defer func() {
		if x := recover(); x != nil {
			p, err = nil, fmt.Errorf("%w: damaged (%v)", ErrFormat, x)
		}
	}()
	p, err = read()
	var exceeded *filememory.Error
	switch {
	case errors.As(err, &exceeded):
		return nil, tooLarge(err)
	case err != nil:
		return nil, ErrFormat
	case len(p.SampleType) == 0:
		return nil, fmt.Errorf("%w: it names no type of values", ErrFormat)
	case len(p.SampleType) > maxTypes:
		return nil, fmt.Errorf("%w: damaged, as it has %d types of values, more than %d", ErrFormat, len(p.SampleType),
			maxTypes)
	case sumsExceed(p):
		return nil, fmt.Errorf("%w: damaged, as its values add up to more than 2^62", ErrFormat)
	}
	return p, nil
}

// maxTypes bounds a profile's types of values: reports have all for each function and call. Profilers write a few.
const maxTypes = 100

// sumsExceed reports whether magnitudes add up to more than half of what fits: sums of some samples, and differences of
// two profiles, then fit.
func sumsExceed(p *pprof.Profile) bool {
	left := make([]int64, len(p.SampleType))
	for i := range left {
		left[i] = 1 << 62
	}
	for _, s := range p.Sample {
		for i, v := range s.Value {
			if v < -1<<62 || v > 1<<62 || i >= len(left) {
				return true
			}
			if left[i] -= max(v, -v); left[i] < 0 {
				return true
			}
		}
	}
	return false
}

var gzipMagic = [2]byte{0x1f, 0x8b} // RFC 1952, 2.3.1

// uncompressed inflates twice: first for the size.
func uncompressed(r *io.SectionReader, memory *filememory.Account) ([]byte, error) {
	var magic [2]byte
	n, err := r.ReadAt(magic[:], 0)
	switch {
	case n == 0 && (err == nil || errors.Is(err, io.EOF)):
		return nil, errEmpty
	case n == 0:
		return nil, err
	case magic != gzipMagic:
		return exactly(r, r.Size(), memory)
	}
	room := min(maxSize, memory.Left())
	z, err := gunzip(r)
	if err != nil {
		return nil, err
	}
	size, err := io.Copy(io.Discard, io.LimitReader(z, room+1))
	switch {
	case err != nil:
		return nil, gzipError(err)
	case size == 0:
		return nil, errEmpty
	case size > maxSize:
		return nil, errTooLarge
	case size > room:
		return nil, tooLarge(memory.Take(size, "contents"))
	}
	if z, err = gunzip(r); err != nil {
		return nil, err
	}
	data, err := exactly(z, size, memory)
	return data, gzipError(err)
}

func gunzip(r *io.SectionReader) (io.Reader, error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bufio.NewReader(r))
	return z, gzipError(err)
}

func exactly(r io.Reader, size int64, memory *filememory.Account) ([]byte, error) {
	if size > maxSize {
		return nil, errTooLarge
	}
	if err := memory.Take(size, "contents"); err != nil {
		return nil, tooLarge(err)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, err
	}
	return data, nil
}

func gzipError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errTruncated
	case err == nil, errors.Is(err, errTooLarge):
		return err
	}
	return fmt.Errorf("%w: its compression is damaged (%w)", ErrFormat, err)
}

var otherFormats = []struct{ magic, what string }{
	{"PERFILE2", "it is perf's perf.data; convert it with perf_to_profile, or record with prywalk"},
	{"2ELIFREP", "it is perf's perf.data; convert it with perf_to_profile, or record with prywalk"},
	{"{", "it is JSON (a Speedscope or Firefox profile?); give the recording that it was made from"},
	{"[", "it is JSON (a trace?); give the recording that it was made from"},
	{"\x7fELF", "it is a program; give the recording of it"},
	{"<", "it is a web page; give the recording that it was made from"},
	{"PK\x03\x04", "it is a zip archive; unpack it first"},
	{"\x28\xb5\x2f\xfd", "it is compressed with zstd; decompress it first"},
	{"\xfd7zXZ", "it is compressed with xz; decompress it first"},
	{"FLR\x00", "it is a Java flight recording, for which there are other tools"},
}

// otherFormat returns an error that names data's format, nil if unknown. Precondition: data is no whole protocol
// buffer, which may begin like another format.
func otherFormat(data []byte) error {
	for _, o := range otherFormats {
		if bytes.HasPrefix(data, []byte(o.magic)) {
			return fmt.Errorf("%w: %s", ErrFormat, o.what)
		}
	}
	return nil
}

// scan reports whether a Profile's fields fill data exactly, or are cut off.
func scan(data []byte) (whole, cut bool) {
	first := true
	for f, err := range protobuf.Fields(data) {
		switch {
		case errors.Is(err, protobuf.ErrCut):
			return false, !first
		case err != nil || f.Number < 1 || f.Number > fieldDocURL || f.Wire != protobuf.Varint && f.Wire != protobuf.Bytes:
			return false, false
		}
		first = false
	}
	return true, false
}
