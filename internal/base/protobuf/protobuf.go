// SPDX-License-Identifier: Apache-2.0

// Package protobuf writes and reads protocol buffer messages (protobuf.dev/programming-guides/encoding).
package protobuf

import (
	"encoding/binary"
	"errors"
	"iter"
)

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

// Errors of [Next].
var (
	ErrKey    = errors.New("a key")
	errNumber = errors.New("a number")
	errType   = errors.New("a wire type")
	ErrCut    = errors.New("its end is missing")
)

// Field is a field of an encoded message.
type Field struct {
	Number int // from 0, which no valid message has, to 2²⁹
	Wire   int
	Value  uint64 // of a varint
	Body   []byte // of bytes
	Raw    []byte // with its key
}

// Next splits off the first field of a message that is not empty. ErrCut: its value goes beyond the end.
func Next(m []byte) (f Field, rest []byte, err error) {
	key, n := binary.Uvarint(m)
	if n <= 0 || key>>3 > 1<<29 {
		return f, nil, ErrKey
	}
	f.Number, f.Wire = int(key>>3), int(key&7)
	size := uint64(0) // of what follows n
	switch f.Wire {
	case Varint, Bytes:
		v, k := binary.Uvarint(m[n:])
		if k <= 0 {
			return f, nil, errNumber
		}
		n += k
		if f.Wire == Varint {
			f.Value = v
		} else {
			size = v
		}
	case I64:
		size = 8
	case I32:
		size = 4
	default:
		return f, nil, errType
	}
	if size > uint64(len(m)-n) {
		return f, nil, ErrCut
	}
	end := n + int(size)
	if f.Wire == Bytes {
		f.Body = m[n:end]
	}
	f.Raw = m[:end]
	return f, m[end:], nil
}

// Fields yields the fields of a message, up to the first that is damaged, which has an error.
func Fields(m []byte) iter.Seq2[Field, error] {
	return func(yield func(Field, error) bool) {
		for len(m) > 0 {
			f, rest, err := Next(m)
			if err != nil {
				yield(Field{}, err)
				return
			}
			if m = rest; !yield(f, nil) {
				return
			}
		}
	}
}
