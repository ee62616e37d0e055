// SPDX-License-Identifier: Apache-2.0

package protobuf

import "encoding/binary"

// Wire types.
const (
	Varint = 0
	I64    = 1
	Bytes  = 2
	I32    = 5
)

// Message is an encoded message. Zero numbers and empty lists are left out (proto3).
type Message []byte

// Key writes a field's key; its value must follow.
func (m *Message) Key(field, wire int) { *m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(wire)) }

// Uint writes a varint.
func (m *Message) Uint(field int, v uint64) {
	if v != 0 {
		m.Key(field, Varint)
		*m = binary.AppendUvarint(*m, v)
	}
}

// Int writes a varint.
func (m *Message) Int(field int, v int64) { m.Uint(field, uint64(v)) }

// Bool writes a varint.
func (m *Message) Bool(field int, v bool) {
	if v {
		m.Uint(field, 1)
	}
}

// Fixed writes a fixed64.
func (m *Message) Fixed(field int, v uint64) {
	if v != 0 {
		m.Key(field, I64)
		*m = binary.LittleEndian.AppendUint64(*m, v)
	}
}

// Bytes writes a string, bytes or a message.
func (m *Message) Bytes(field int, v []byte) {
	m.Key(field, Bytes)
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
