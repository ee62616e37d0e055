// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"io"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/protobuf"
)

type stream struct {
	w    io.Writer
	head protobuf.Message
	err  error
}

func (s *stream) write(b []byte) {
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
}

func (s *stream) message(field int, b []byte) {
	s.head = s.head[:0]
	s.head.Key(field, protobuf.Bytes)
	s.head = binary.AppendUvarint(s.head, uint64(len(b)))
	s.write(s.head)
	s.write(b)
}

func (s *stream) int(field int, v int64) {
	var m protobuf.Message
	m.Int(field, v)
	s.write(m)
}

// Number 0 is "". Invalid UTF-8 is escaped, since other readers refuse it.
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
