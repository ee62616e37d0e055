// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"testing"

	"prywalk/frames"
)

func TestOtherFilesAreDistinguished(t *testing.T) {
	good := newImage().bytes()
	with := func(off int, v byte) []byte {
		b := bytes.Clone(good)
		b[off] = v
		return b
	}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"empty":      {nil, ErrNotELF},
		"short":      {good[:3], ErrNotELF},
		"text":       {[]byte("#!/bin/sh\nexec true\n"), ErrNotELF},
		"32-bit":     {with(4, 1), ErrClass32},
		"x32":        {with(4, 1), ErrClass32},
		"big-endian": {with(5, 2), ErrMachine},
		"RISC-V":     {with(18, 243), ErrMachine},
	} {
		if _, err := Open(bytes.NewReader(c.data), int64(len(c.data))); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	var format *FormatError
	if _, err := Open(bytes.NewReader(good), 40); !errors.As(err, &format) {
		t.Errorf("header cut off: error %v, want a format error", err)
	}
}

func TestArchitectures(t *testing.T) {
	m := newImage()
	if got := openBytes(t, m.bytes()).Arch(); got != frames.X86_64 {
		t.Errorf("got %v", got)
	}
	m = newImage()
	m.machine = uint16(elf.EM_AARCH64)
	if got := openBytes(t, m.bytes()).Arch(); got != frames.ARM64 {
		t.Errorf("got %v", got)
	}
}

type failing struct {
	data []byte
	ok   int64
}

var errDisk = errors.New("disk failure")

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.ok {
		return 0, errDisk
	}
	return bytes.NewReader(f.data).ReadAt(p, off)
}

func TestReadErrorsAreReturned(t *testing.T) {
	m := newImage()
	m.segs = []Segment{{Type: elf.PT_LOAD}}
	b := m.bytes()
	if _, err := Open(&failing{b, 10}, int64(len(b))); !errors.Is(err, errDisk) {
		t.Errorf("header: %v", err)
	}
	if _, err := Open(&failing{b, headerSize}, int64(len(b))); !errors.Is(err, errDisk) {
		t.Errorf("program headers: %v", err)
	}
	f, err := Open(&failing{b, headerSize + segmentSize}, int64(len(b)))
	if err != nil || len(f.Sections) != 0 {
		t.Errorf("section headers: %v, %d sections, want none", err, len(f.Sections))
	}
}

func TestTruncationAfterOpenIsAnError(t *testing.T) {
	m := newImage()
	m.add(Section{Name: ".big", Type: elf.SHT_PROGBITS}, make([]byte, 100<<10))
	b := m.bytes()
	r := &failing{b, int64(len(b))}
	f, err := Open(r, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.Window(f.Section(".big"))
	if err != nil {
		t.Fatal(err)
	}
	r.ok = 1000
	if _, err := f.Data(f.Section(".big")); !errors.Is(err, errDisk) {
		t.Errorf("Data: %v", err)
	}
	if _, err := w.View(0, 10); !errors.Is(err, errDisk) {
		t.Errorf("View: %v", err)
	}
	short := openShort(t, b)
	if _, err := short.Data(short.Section(".big")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Data of a short file: %v", err)
	}
}

func openShort(t *testing.T, b []byte) *File {
	f := openBytes(t, b)
	f.r = bytes.NewReader(b[:500])
	return f
}

func TestSegmentsAreReadDespiteDamagedSectionHeaders(t *testing.T) {
	m := newImage()
	m.segs = []Segment{{Type: elf.PT_LOAD, FileSize: 64, MemSize: 64}}
	b := m.bytes()
	cut := b[:len(b)-10]
	f := openBytes(t, cut)
	if len(f.Sections) != 1 || len(f.Segments) != 1 || f.Section(".text") != nil {
		t.Errorf("%d sections, %d segments; want the null section, 1 segment", len(f.Sections), len(f.Segments))
	}
}

func TestImpossibleCountsAreErrors(t *testing.T) {
	m := newImage()
	b := m.bytes()
	b[56], b[57] = 0xff, 0xf0
	var format *FormatError
	if _, err := Open(bytes.NewReader(b), int64(len(b))); !errors.As(err, &format) {
		t.Errorf("error %v, want a %T", err, format)
	}
	m = newImage()
	m.secs[0].Size = 1 << 60 // the number of sections if e_shnum is 0
	b = m.bytes()
	b[60], b[61] = 0, 0
	if f := openBytes(t, b); len(f.Sections) != 1 {
		t.Errorf("%d sections, want the null section", len(f.Sections))
	}
}

func TestExtendedNumbering(t *testing.T) {
	m := newImage()
	m.segs = []Segment{{Type: elf.PT_LOAD}, {Type: elf.PT_NOTE}}
	m.add(Section{Name: ".one", Type: elf.SHT_PROGBITS}, []byte{1})
	m.secs[0].Size, m.secs[0].Info, m.secs[0].Link = 3, 2, 2
	b := m.bytes()
	b[56], b[57] = 0xff, 0xff // PN_XNUM
	b[60], b[61] = 0, 0
	b[62], b[63] = 0xff, 0xff // SHN_XINDEX
	f := openBytes(t, b)
	if len(f.Segments) != 2 || len(f.Sections) != 3 || f.Section(".one") == nil {
		t.Errorf("%d segments, %d sections; want 2 and 3", len(f.Segments), len(f.Sections))
	}
}

func TestExtendedNumberOfSegmentsWithoutSections(t *testing.T) {
	m := newImage()
	m.segs = []Segment{{Type: elf.PT_LOAD}, {Type: elf.PT_NOTE}}
	m.secs[0].Info = 2
	b := m.bytes()
	b[56], b[57] = 0xff, 0xff                       // PN_XNUM
	b[60], b[61], b[62], b[63] = 0, 0, 0, 0         // e_shnum, e_shstrndx
	if f := openBytes(t, b); len(f.Segments) != 2 { // not 65,535
		t.Errorf("%d segments, want 2", len(f.Segments))
	}
}
