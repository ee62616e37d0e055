// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"errors"
	"fmt"
	"io"
)

// inflater decompresses a section from its beginning on demand.
type inflater struct {
	c    contents
	f    *sectionReader
	out  []byte
	have uint64
	err  error
}

const inflateStep = 64 << 10

// WindowFromStart is [File.Window] for reading from the beginning: a compressed section is decompressed up to the last
// read, damage after that is not noticed. Memory is taken for the whole.
func (f *sectionReader) WindowFromStart(s *Section) (*Window, error) {
	if s == nil || !s.compressed() || s.Type == SecNoBits || !f.inFile(s.Off, s.Size) {
		return f.Window(s)
	}
	c, err := f.contents(s, MaxData)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.Name, err)
	}
	if c.scratch == 0 || c.size == 0 { // not compressed after all
		return f.Window(s)
	}
	if err := f.memory.Take(int64(c.size)+c.scratch, "section "+s.Name); err != nil {
		if c.close != nil {
			c.close()
		}
		return nil, err
	}
	r := &inflater{c: c, f: f, out: make([]byte, c.size)}
	return &Window{addr: s.Addr, size: c.size, whole: r.out, inflater: r}, nil
}

// Err returns the error of decompression so far.
func (w *Window) Err() error {
	if w.inflater == nil {
		return nil
	}
	return w.inflater.err
}

func (r *inflater) inflateTo(n uint64) error {
	if r == nil || n <= r.have {
		return nil
	}
	if r.err != nil {
		return r.err
	}
	n = min((n+inflateStep-1)&^(inflateStep-1), uint64(len(r.out)))
	got, err := io.ReadFull(r.c, r.out[r.have:n])
	r.have += uint64(got)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && r.have < n:
		r.err = errSize
	case err != nil:
		r.err = fmt.Errorf("decompressing: %w", err)
	case r.have < uint64(len(r.out)):
		return nil
	}
	if r.c.close != nil { // complete
		r.c.close()
	}
	r.f.memory.Give(r.c.scratch)
	r.c = contents{}
	return r.err
}
