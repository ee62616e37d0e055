// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"encoding/binary"
	"errors"
)

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
