// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import "prywalk/internal/base/wire"

// initialLength reads a unit's length and the size of its offsets (DWARF 5 §7.4), bytes.
func initialLength(c *wire.Cursor) (length uint64, offSize uint8) {
	n := c.U32()
	switch {
	case n == 0xffffffff:
		return c.U64(), 8
	case n >= 0xfffffff0:
		c.Fail()
	}
	return uint64(n), 4
}
