// SPDX-License-Identifier: Apache-2.0

package symbols

import "encoding/binary"

// decodeStubARM64 returns an entry's slot: "adrp x16, page" plus "ldr x17, [x16, #off]".
func decodeStubARM64(code []byte, addr uint64) (slot uint64, ok bool) {
	for i := 0; i+8 <= len(code); i += 4 {
		adrp := binary.LittleEndian.Uint32(code[i:])
		ldr := binary.LittleEndian.Uint32(code[i+4:])
		if adrp&0x9f00001f != 0x90000010 || ldr&0xffc003ff != 0xf9400211 {
			continue
		}
		imm := int64(adrp>>5&0x7ffff)<<2 | int64(adrp>>29&3)
		imm = imm << 43 >> 43 // 21 bits, signed
		page := (addr+uint64(i))&^0xfff + uint64(imm<<12)
		return page + uint64(ldr>>10&0xfff)*8, true
	}
	return 0, false
}
