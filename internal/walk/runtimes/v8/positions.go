// SPDX-License-Identifier: Apache-2.0

package v8

import "prywalk/internal/base/wire"

// # Positions
//
// A table has ascending entries: differences of place and of source position, 7 bits a byte, with the sign in the
// lowest bit (src/codegen/source-position-table.cc). The place's sign, or lowest bit, marks a statement. A position
// is (src/codegen/source-position.h):
//
//	bit 0        in V8's own source
//	bits 1–30    offset in the script, plus one
//	bits 31–46   number of the inlined call, plus one

type position uint64

// atEntry is the position before a table's first entry.
const atEntry position = 0

func (p position) offset() int {
	if p&1 != 0 {
		return -1
	}
	return int(p>>1&(1<<30-1)) - 1
}

func (p position) inlined() int { return int(p>>31&0xffff) - 1 }

// zigzag reads a number whose lowest bit is its sign.
func zigzag(c *wire.Cursor) int64 {
	v := c.ULEB()
	return int64(v>>1) ^ -int64(v&1)
}

// positionAt returns the last position at or before place, or [atEntry]; it returns false if the table is empty. flags
// is set since V8 14: a place is then unsigned, above two bits of flags.
func positionAt(table []byte, flags bool, place int) (p position, ok bool) {
	c := wire.Cursor{Bytes: table}
	at, source := int64(-1), int64(0) // kFunctionEntryBytecodeOffset
	for ; !c.Done(); ok = true {
		var d int64
		if flags {
			d = int64(c.ULEB() >> 2)
		} else if d = zigzag(&c); d < 0 {
			d = -(d + 1)
		}
		if at += d; at > int64(place) {
			return p, true
		}
		source += zigzag(&c)
		p = position(source)
	}
	return p, ok
}

// Prefix bytecodes of wide operands (src/interpreter/bytecodes.h).
const (
	wide, extraWide           = 0, 1
	debugWide, debugExtraWide = 2, 3
)

const maxBytecodes = 1 << 22

// bytecodeAt returns the bytecode offset of a place within an instruction of baseline code, or false if there is none,
// as before the first bytecode. table has code sizes: before the first bytecode, then of each
// (src/baseline/bytecode-offset-iterator.h).
func bytecodeAt(table, bytecodes, sizes []byte, place int) (offset int, ok bool) {
	c := wire.Cursor{Bytes: table}
	end := int(c.ULEB())
	if place < end || len(sizes) == 0 {
		return 0, false
	}
	count := len(sizes) / 3
	for at := 0; at < len(bytecodes) && !c.Done(); {
		end += int(c.ULEB())
		if place < end {
			return at, true
		}
		scale, size := 0, 0
		switch bytecodes[at] {
		case wide, debugWide:
			scale, size = 1, 1
		case extraWide, debugExtraWide:
			scale, size = 2, 1
		}
		if at+size >= len(bytecodes) {
			break
		}
		op := int(bytecodes[at+size])
		if op >= count || sizes[scale*count+op] == 0 {
			break
		}
		at += size + int(sizes[scale*count+op])
	}
	return 0, false
}

func beforeFirstBytecode(table []byte, place int) bool {
	c := wire.Cursor{Bytes: table}
	return place < int(c.ULEB())
}
