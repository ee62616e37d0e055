// SPDX-License-Identifier: Apache-2.0

package cpython

// lineOf returns the line of the instruction at a byte offset, or 0 if it has none.
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

// lineByIncrements decodes co_lnotab (Objects/lnotab_notes.txt).
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

const noLine = -128

// lineByRanges decodes co_linetable of 3.10 (PEP 626).
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

// Kinds of entries from 3.11 on (Objects/locations.md).
const (
	locationOneLine0 = 10
	locationOneLine2 = 12
	locationNoColumn = 13
	locationLong     = 14
	locationNone     = 15
)

// lineByLocations decodes co_linetable of 3.11 on; bit 7 marks an entry's first byte.
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

// signedVarint decodes 6 bits a byte, lowest first; bit 0 is the sign.
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
