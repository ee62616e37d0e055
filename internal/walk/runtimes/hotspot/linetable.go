// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"
	"slices"
)

func (n *methodNames) readLines(m *method, whole uint64) {
	from := m.bytecodeAt + m.bytecodeSize
	size := min(m.constMethod+whole-from, maxLines)
	n.lines = slices.Grow(n.lines[:0], int(size))[:size]
	if !n.vm.memory().bytes(from, n.lines) {
		return
	}
	s := unsigned5Reader{b: n.lines, excluded: n.vm.nameLayout.excludedCodes}
	m.firstLine = s.line(0)
	m.lines = bytes.Clone(n.lines[:len(n.lines)-len(s.b)])
}

// lineAt returns the line of a bytecode index, 0 if unknown (Method::line_number_from_bci).
func (n *methodNames) lineAt(m *method, bci int32) int {
	s := unsigned5Reader{b: m.lines, excluded: n.vm.nameLayout.excludedCodes}
	return s.line(bci)
}

// line returns the line of the nearest entry up to bci. An entry is a byte of deltas in 5 bits (bytecode index) and 3
// (line), or 0xff and both as signed numbers; 0 ends the table.
func (r *unsigned5Reader) line(bci int32) int {
	at, line := int32(0), int32(0)
	best, found := int32(-1), int32(0)
	for {
		switch c := r.byte(); {
		case r.failed || c == 0:
			return int(max(found, 0))
		case c == 0xff:
			at += r.signed()
			line += r.signed()
		default:
			at += int32(c >> 3)
			line += int32(c & 7)
		}
		if !r.failed && at <= bci && at >= best && best != bci {
			best, found = at, line
		}
	}
}

// Numbers have 1 to 5 bytes, low first (compressedStream.cpp, utilities/unsigned5.hpp). A byte below 192 ends a
// number; others carry 6 bits. Since JDK 20 all bytes count from 1.
const (
	lgHighCodes    = 6
	highCodes      = 1 << lgHighCodes
	maxNumberBytes = 5
)

// unsigned5Reader returns 0 after an incomplete number.
type unsigned5Reader struct {
	b        []byte
	excluded byte // nameLayout.excludedCodes
	failed   bool
}

func (r *unsigned5Reader) byte() byte {
	if len(r.b) == 0 {
		r.failed = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *unsigned5Reader) number() uint32 {
	limit := uint32(256 - highCodes - int(r.excluded))
	sum := uint32(0)
	for i := range maxNumberBytes {
		c := r.byte()
		if c < r.excluded {
			r.failed = true
		}
		if r.failed {
			return 0
		}
		v := uint32(c - r.excluded)
		sum += v << (lgHighCodes * i)
		if v < limit {
			break
		}
	}
	return sum
}

// signed reads a number whose sign is bit 0.
func (r *unsigned5Reader) signed() int32 {
	v := r.number()
	return int32(v>>1) ^ -int32(v&1)
}
