// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"io"

	"prywalk/internal/printable"
)

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// Fields of Sample and Label in profile.proto.
const (
	sampleLocations = 1
	sampleValues    = 2
	sampleLabel     = 3

	labelKey  = 1
	labelStr  = 2
	labelNum  = 3
	labelUnit = 4
)

type message struct{ buf []byte }

func (m *message) reset() { m.buf = m.buf[:0] }

// uint omits 0, as proto3 does.
func (m *message) uint(field int, v uint64) {
	if v != 0 {
		m.buf = binary.AppendUvarint(m.buf, uint64(field)<<3|wireVarint)
		m.buf = binary.AppendUvarint(m.buf, v)
	}
}

func (m *message) int(field int, v int64) { m.uint(field, uint64(v)) }

func (m *message) bool(field int, v bool) {
	if v {
		m.uint(field, 1)
	}
}

func (m *message) bytes(field int, b []byte) {
	m.buf = binary.AppendUvarint(m.buf, uint64(field)<<3|wireBytes)
	m.buf = binary.AppendUvarint(m.buf, uint64(len(b)))
	m.buf = append(m.buf, b...)
}

// stream writes top-level fields; err is sticky.
type stream struct {
	w    io.Writer
	head []byte
	err  error
}

func (s *stream) write(b []byte) {
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
}

func (s *stream) message(field int, b []byte) {
	s.head = binary.AppendUvarint(s.head[:0], uint64(field)<<3|wireBytes)
	s.head = binary.AppendUvarint(s.head, uint64(len(b)))
	s.write(s.head)
	s.write(b)
}

func (s *stream) int(field int, v int64) {
	var m message
	m.int(field, v)
	s.write(m.buf)
}

// stringTable numbers strings; 0 is "". Other readers refuse invalid UTF-8: it is escaped.
type stringTable struct {
	list  []string
	index map[string]int64
}

func newStringTable() stringTable {
	return stringTable{list: []string{""}, index: map[string]int64{"": 0}}
}

func (t *stringTable) add(s string) int64 {
	i, ok := t.index[s]
	if !ok {
		i = int64(len(t.list))
		t.list = append(t.list, printable.UTF8(s))
		t.index[s] = i
	}
	return i
}

type field struct {
	number int
	wire   int
	value  uint64
	body   []byte
	raw    []byte // with its tag
}

// nextField splits off a field, as strictly as the library's decoder.
func nextField(data []byte) (f field, rest []byte, ok bool) {
	tag, n := binary.Uvarint(data)
	if n <= 0 || tag>>3 > 1<<29 {
		return f, nil, false
	}
	f.number, f.wire = int(tag>>3), int(tag&7)
	rest = data[n:]
	switch f.wire {
	case wireVarint:
		if f.value, n = binary.Uvarint(rest); n <= 0 {
			return f, nil, false
		}
	case wireBytes:
		size, k := binary.Uvarint(rest)
		if k <= 0 || size > uint64(len(rest)-k) {
			return f, nil, false
		}
		f.body, n = rest[k:k+int(size)], k+int(size)
	case wireFixed64, wireFixed32:
		if n = 8; f.wire == wireFixed32 {
			n = 4
		}
		if len(rest) < n {
			return f, nil, false
		}
	default:
		return f, nil, false
	}
	f.raw = data[:len(data)-len(rest)+n]
	return f, rest[n:], true
}
