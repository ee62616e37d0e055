// SPDX-License-Identifier: Apache-2.0

package oracle

const maxInsn = 15

// kindX86 classifies an instruction (Intel SDM volume 2, appendix A).
func kindX86(b []byte) kind {
	for len(b) > 0 && prefixX86(b[0]) {
		b = b[1:]
	}
	if len(b) == 0 {
		return plain
	}
	second := byte(0)
	if len(b) > 1 {
		second = b[1]
	}
	switch b[0] {
	case 0xe8:
		return call
	case 0xc2, 0xc3:
		return ret
	case 0xcc:
		return trap
	case 0xff:
		if second>>3&7 == 2 {
			return call
		}
	case 0x0f:
		if second == 0x05 {
			return system
		}
	}
	return plain
}

func prefixX86(c byte) bool {
	switch c {
	case 0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65:
		return true
	}
	return c&0xf0 == 0x40
}
