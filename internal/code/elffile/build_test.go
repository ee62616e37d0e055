// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"
)

type image struct {
	typ, machine uint16
	segs         []Segment
	secs         []Section
	data         [][]byte // of the sections
}

func newImage() *image {
	return &image{typ: uint16(elf.ET_DYN), machine: uint16(elf.EM_X86_64), secs: make([]Section, 1),
		data: make([][]byte, 1)}
}

func (img *image) add(s Section, data []byte) int {
	img.secs = append(img.secs, s)
	img.data = append(img.data, data)
	return len(img.secs) - 1
}

// Section contents start at a multiple of 16.
func (img *image) bytes() []byte {
	names := []byte{0}
	for i := range img.secs {
		img.secs[i].nameOff = uint32(len(names))
		names = append(append(names, img.secs[i].Name...), 0)
	}
	shstr := img.add(Section{Type: elf.SHT_STRTAB}, names)
	out := make([]byte, headerSize)
	for i := range img.segs {
		out = appendSegment(out, &img.segs[i])
	}
	for i := range img.secs {
		out = append(out, make([]byte, -len(out)&15)...)
		if i > 0 && img.secs[i].Off == 0 {
			img.secs[i].Off, img.secs[i].Size = uint64(len(out)), uint64(len(img.data[i]))
		}
		out = append(out, img.data[i]...)
	}
	shoff := uint64(len(out))
	for i := range img.secs {
		out = appendSection(out, &img.secs[i])
	}
	copy(out, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(out[16:], img.typ)
	le.PutUint16(out[18:], img.machine)
	le.PutUint64(out[32:], headerSize)
	le.PutUint64(out[40:], shoff)
	le.PutUint16(out[54:], segmentSize)
	le.PutUint16(out[56:], uint16(len(img.segs)))
	le.PutUint16(out[58:], sectionSize)
	le.PutUint16(out[60:], uint16(len(img.secs)))
	le.PutUint16(out[62:], uint16(shstr))
	return out
}

func appendNumbers(out []byte, v ...any) []byte {
	for _, x := range v {
		out, _ = binary.Append(out, binary.LittleEndian, x)
	}
	return out
}

func appendSegment(out []byte, s *Segment) []byte {
	return appendNumbers(out, uint32(s.Type), uint32(s.Flags), s.Off, s.VAddr, s.VAddr, s.FileSize, s.MemSize, s.Align)
}

func appendSection(out []byte, s *Section) []byte {
	return appendNumbers(out, s.nameOff, s.Type, uint64(s.Flags), s.Addr, s.Off, s.Size, s.Link, s.Info, s.Align,
		s.EntSize)
}

func note(name string, typ uint32, desc []byte) []byte {
	out := appendNumbers(nil, uint32(len(name)+1), uint32(len(desc)), typ)
	out = append(append(out, name...), 0)
	out = append(out, make([]byte, -len(out)&3)...)
	out = append(out, desc...)
	return append(out, make([]byte, -len(out)&3)...)
}

func openBytes(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
