// SPDX-License-Identifier: Apache-2.0

package cpython

// Three formats say which instruction belongs to which line. Each decoder takes the offset of an instruction in bytes,
// and gives 0 where the table tells no line.

// lineOf gives the line of an instruction in a code object of release 3.minor.
func lineOf(minor int, table []byte, first, offset int) int {
	if offset < 0 {
		return first
	}
	switch {
	case minor <= 9:
		return lineByIncrements(table, first, offset)
	case minor == 10:
		return lineByRanges(table, first, offset)
	}
	return lineByLocations(table, first, offset)
}

// lineByIncrements reads co_lnotab (to 3.9): pairs of bytes, how much the offset grows and, signed, how much the line
// (Objects/lnotab_notes.txt).
func lineByIncrements(table []byte, line, offset int) int {
	at := 0
	for i := 0; i+1 < len(table); i += 2 {
		if at += int(table[i]); at > offset {
			break
		}
		line += int(int8(table[i+1]))
	}
	return line
}

// noLine says in the format of 3.10 that a range has no line.
const noLine = -128

// lineByRanges reads co_linetable of 3.10: pairs of bytes, the length of a range and, signed, the distance of its line
// from the one before (PEP 626).
func lineByRanges(table []byte, line, offset int) int {
	end := 0
	for i := 0; i+1 < len(table); i += 2 {
		end += int(table[i])
		delta := int(int8(table[i+1]))
		if delta != noLine {
			line += delta
		}
		if offset < end {
			if delta == noLine {
				return 0
			}
			return line
		}
	}
	return 0
}

// Kinds of entries in the format of 3.11 on (Objects/locations.md).
const (
	locationOneLine0 = 10
	locationOneLine2 = 12
	locationNoColumn = 13
	locationLong     = 14
	locationNone     = 15
)

// lineByLocations reads co_linetable of 3.11 on: each entry begins with a byte with its highest bit set.
func lineByLocations(table []byte, line, offset int) int {
	end := 0
	for i := 0; i < len(table); {
		head := table[i]
		if i++; head&0x80 == 0 {
			return 0
		}
		end += (int(head&7) + 1) * 2
		kind := int(head >> 3 & 15)
		switch {
		case kind == locationNoColumn || kind == locationLong:
			line += signedVarint(table[i:])
		case kind >= locationOneLine0 && kind <= locationOneLine2:
			line += kind - locationOneLine0
		}
		if offset < end {
			if kind == locationNone {
				return 0
			}
			return line
		}
		for i < len(table) && table[i]&0x80 == 0 {
			i++
		}
	}
	return 0
}

// signedVarint decodes a number of 6 bits a byte, the lowest first, whose lowest bit is its sign.
func signedVarint(b []byte) int {
	v, shift := uint32(0), 0
	for _, c := range b {
		v |= uint32(c&63) << shift
		if shift += 6; c&64 == 0 || shift > 30 {
			break
		}
	}
	if v&1 != 0 {
		return -int(v >> 1)
	}
	return int(v >> 1)
}
