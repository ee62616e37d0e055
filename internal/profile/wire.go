// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"io"

	"prywalk/internal/printable"
)

// protocol buffers' wire types
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

type message struct{ buf []byte }

func (m *message) reset() { m.buf = m.buf[:0] }

// uint writes nothing for 0.
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

// bytes writes a string, message or packed list.
func (m *message) bytes(field int, b []byte) {
	m.buf = binary.AppendUvarint(m.buf, uint64(field)<<3|wireBytes)
	m.buf = binary.AppendUvarint(m.buf, uint64(len(b)))
	m.buf = append(m.buf, b...)
}

// stream writes top-level fields, with a sticky error.
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

// stringTable numbers strings, 0 is empty. Bytes that are no UTF-8, which other readers refuse, are escaped.
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
