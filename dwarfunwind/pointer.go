// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/internal/base/wire"

// cursor reads call frame information. A read beyond the end sets Bad; from then on all give zero.
type cursor struct{ wire.Cursor }

// Pointer encodings (LSB 5.0, §10.5.1). The low four bits are the format, the next three the base.
const (
	peAbsptr   = 0x00
	peULEB     = 0x01
	peUData2   = 0x02
	peUData4   = 0x03
	peUData8   = 0x04
	peSLEB     = 0x09
	peSData2   = 0x0a
	peSData4   = 0x0b
	peSData8   = 0x0c
	peFormat   = 0x0f
	pePCRel    = 0x10
	peDataRel  = 0x30 // only in .eh_frame_hdr
	peAligned  = 0x50 // at a multiple of its size
	peBase     = 0x70
	peIndirect = 0x80
	peOmit     = 0xff
)

const addressSize = 8

func (c *cursor) readEncoded(enc uint8) uint64 {
	switch enc & peFormat {
	case peULEB:
		return c.ULEB()
	case peSLEB:
		return uint64(c.SLEB())
	case peUData2:
		return uint64(c.U16())
	case peSData2:
		return uint64(int64(int16(c.U16())))
	case peUData4:
		return uint64(c.U32())
	case peSData4:
		return uint64(int64(int32(c.U32())))
	case peAbsptr, peUData8, peSData8:
		return c.U64()
	}
	c.Fail()
	return 0
}

// skipPointer skips an encoded pointer. at is the address of the cursor's first byte.
func (c *cursor) skipPointer(enc uint8, at uint64) {
	if enc == peAligned {
		c.Skip(-(at + uint64(c.Pos)) % addressSize)
	}
	c.readEncoded(enc)
}

// readPointer reads an encoded pointer. at is the address of the cursor's first byte. Other bases than that, which no
// compiler for these machines uses, and an indirect one, whose value is in the process, set Bad.
func (c *cursor) readPointer(enc uint8, at uint64) uint64 {
	at += uint64(c.Pos)
	v := c.readEncoded(enc)
	switch enc & (peBase | peIndirect) {
	case peAbsptr:
	case pePCRel:
		v += at
	default:
		c.Fail()
	}
	return v
}
