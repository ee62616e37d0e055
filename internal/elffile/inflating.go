// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"errors"
	"fmt"
	"io"
)

// inflater decompresses a section on demand.
type inflater struct {
	c    contents
	f    *sectionReader
	out  []byte
	have uint64
	err  error
}

const inflateStep = 64 << 10

// WindowFromStart is [File.Window] for reading from the beginning. A compressed section is decompressed only up to the
// last read. Memory is taken for the whole.
func (f *sectionReader) WindowFromStart(s *Section) (*Window, error) {
	if s == nil || !s.compressed() || s.Type == SecNoBits || !f.inFile(s.Off, s.Size) {
		return f.Window(s)
	}
	c, err := f.contents(s, maxData)
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
	in := &inflater{c: c, f: f, out: make([]byte, c.size)}
	return &Window{addr: s.Addr, size: c.size, whole: in.out, inflater: in}, nil
}

// Err returns the error of decompression so far.
func (w *Window) Err() error {
	if w.inflater == nil {
		return nil
	}
	return w.inflater.err
}

func (i *inflater) inflateTo(n uint64) error {
	if i == nil || n <= i.have {
		return nil
	}
	if i.err != nil {
		return i.err
	}
	n = min((n+inflateStep-1)&^(inflateStep-1), uint64(len(i.out)))
	got, err := io.ReadFull(i.c, i.out[i.have:n])
	i.have += uint64(got)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		i.err = errSize
	case err != nil:
		i.err = fmt.Errorf("decompressing: %w", err)
	case i.have < uint64(len(i.out)):
		return nil
	}
	if i.c.close != nil { // complete
		i.c.close()
	}
	i.f.memory.Give(i.c.scratch)
	i.c = contents{}
	return i.err
}
