// SPDX-License-Identifier: Apache-2.0

// Package protobuf writes and reads protocol buffer messages (protobuf.dev/programming-guides/encoding).
package protobuf

import (
	"encoding/binary"
	"errors"
	"io"
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// Wire types.
const (
	Varint = protowire.VarintType
	I64    = protowire.Fixed64Type
	Bytes  = protowire.BytesType
)

// Message is an encoded message. Zero numbers and empty lists are left out (proto3).
type Message []byte

// Key writes a field's key; its value must follow.
func (m *Message) Key(field int, wire protowire.Type) {
	*m = protowire.AppendTag(*m, protowire.Number(field), wire)
}

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
	*m = protowire.AppendBytes(*m, v)
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

var (
	// ErrCut is the error of a field that goes beyond the end.
	ErrCut  = errors.New("its end is missing")
	errType = errors.New("a wire type")
)

// Field is a field of an encoded message.
type Field struct {
	Number int // from 1 to 2²⁹ − 1
	Wire   protowire.Type
	Value  uint64 // of a varint
	Body   []byte // of bytes
	Raw    []byte // with its key
}

// Next splits off the first field of a message that is not empty.
func Next(m []byte) (f Field, rest []byte, err error) {
	number, wire, n := protowire.ConsumeTag(m)
	size := 0
	switch {
	case n < 0:
	case wire == protowire.StartGroupType, wire == protowire.EndGroupType:
		return f, nil, errType
	default:
		size = protowire.ConsumeFieldValue(number, wire, m[n:])
	}
	if err := protowire.ParseError(min(n, size)); errors.Is(err, io.ErrUnexpectedEOF) {
		return f, nil, ErrCut
	} else if err != nil {
		return f, nil, err
	}
	f = Field{Number: int(number), Wire: wire, Raw: m[:n+size]}
	switch wire {
	case Varint:
		f.Value, _ = protowire.ConsumeVarint(m[n:])
	case Bytes:
		f.Body, _ = protowire.ConsumeBytes(m[n:])
	}
	return f, m[n+size:], nil
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
