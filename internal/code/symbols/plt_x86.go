// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"bytes"
	"encoding/binary"
)

// decodeStubX86 returns an entry's slot: "jmp *disp32(%rip)", ff 25 (System V ABI for x86-64, §5.2).
func decodeStubX86(code []byte, addr uint64) (slot uint64, ok bool) {
	i := bytes.Index(code, []byte{0xff, 0x25})
	if i < 0 || i+6 > len(code) {
		return 0, false
	}
	disp := int32(binary.LittleEndian.Uint32(code[i+2:]))
	return addr + uint64(i) + 6 + uint64(int64(disp)), true
}
