// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"encoding/binary"
	"strings"
)

// Message is an encoded protocol buffer message (protobuf.dev/programming-guides/encoding). Zero numbers and empty
// lists are left out.
type Message []byte

// Wire types.
const (
	wireVarint = 0
	wireI64    = 1
	wireBytes  = 2
	wireI32    = 5
)

func (m *Message) key(field, wire int) { *m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(wire)) }

// Int writes a varint.
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

// Ints writes a packed list of varints.
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

// Fixeds writes a packed list of fixed64.
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

func anyValue(v any) (m Message) {
	switch v := v.(type) {
	case string:
		m.Bytes(1, []byte(valid(v)))
	case int64: // also 0: a member of a oneof
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

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") } // protocol buffers require UTF-8
