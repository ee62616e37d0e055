// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"encoding/binary"
	"strings"
)

// Message is a protocol buffer's message as it is written (protobuf.dev/programming-guides/encoding). Fields with the
// value zero are left out, but for those of bytes.
type Message []byte

// The wire types.
const (
	wireVarint = 0
	wireI64    = 1
	wireBytes  = 2
	wireI32    = 5
)

func (m *Message) key(field, wire int) { *m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(wire)) }

// Int writes a number that is no fixed64.
func (m *Message) Int(field int, v int64) {
	if v != 0 {
		m.key(field, wireVarint)
		*m = binary.AppendUvarint(*m, uint64(v))
	}
}

// Fixed writes a fixed64.
func (m *Message) Fixed(field int, v uint64) {
	if v != 0 {
		m.key(field, wireI64)
		m.fixed(v)
	}
}

func (m *Message) fixed(v uint64) { *m = binary.LittleEndian.AppendUint64(*m, v) }

// Bytes writes a string, bytes or a message.
func (m *Message) Bytes(field int, v []byte) {
	m.key(field, wireBytes)
	*m = binary.AppendUvarint(*m, uint64(len(v)))
	*m = append(*m, v...)
}

// Ints writes a list of numbers, packed.
func (m *Message) Ints(field int, list []int64) {
	if len(list) == 0 {
		return
	}
	var packed Message
	for _, v := range list {
		packed = binary.AppendUvarint(packed, uint64(v))
	}
	m.Bytes(field, packed)
}

// Fixeds writes a list of fixed64, packed.
func (m *Message) Fixeds(field int, list []uint64) {
	if len(list) == 0 {
		return
	}
	var packed Message
	for _, v := range list {
		packed = binary.LittleEndian.AppendUint64(packed, v)
	}
	m.Bytes(field, packed)
}

// anyValue gives a string or an int64 as an AnyValue.
func anyValue(v any) (m Message) {
	switch v := v.(type) {
	case string:
		m.Bytes(1, []byte(valid(v)))
	case int64: // of 0, too: it is one of several kinds
		m.key(3, wireVarint)
		m = binary.AppendUvarint(m, uint64(v))
	}
	return m
}

// KeyValue writes an attribute of a resource: a string or an int64.
func (m *Message) KeyValue(field int, key string, value any) {
	var pair Message
	pair.Bytes(1, []byte(valid(key)))
	pair.Bytes(2, anyValue(value))
	m.Bytes(field, pair)
}

// valid gives a string as protocol buffers want it: UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
