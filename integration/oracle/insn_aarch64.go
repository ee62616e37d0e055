// SPDX-License-Identifier: Apache-2.0

package oracle

import "encoding/binary"

func kindARM64(b []byte) kind {
	if len(b) < 4 {
		return plain
	}
	switch w := binary.LittleEndian.Uint32(b); {
	case w>>26 == 0x25, w&0xfffffc1f == 0xd63f0000, w&0xfefff800 == 0xd63f0800:
		return call // bl, blr, blraa and the like
	case w&0xfffffc1f == 0xd65f0000, w == 0xd65f0bff, w == 0xd65f0fff:
		return ret
	case w&0xfffffc1f == 0xd61f0000, w&0xfefff800 == 0xd61f0800:
		return jumpTo // br, braa and the like
	case w&0xffe0001f == 0xd4000001:
		return system
	case w&0xffe0001f == 0xd4200000:
		return trap
	}
	return plain
}
