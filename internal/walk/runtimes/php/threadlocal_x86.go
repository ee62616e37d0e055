// SPDX-License-Identifier: Apache-2.0

package php

import (
	"bytes"
	"encoding/binary"
)

// After endbr64: mov rax, imm32 in a program; mov rax, [rip+disp32] of a GOT entry in a library.
var (
	endbr      = []byte{0xf3, 0x0f, 0x1e, 0xfa}
	moveNumber = []byte{0x48, 0xc7, 0xc0}
	moveWord   = []byte{0x48, 0x8b, 0x05}
)

// threadLocalX86 decodes the result of tsrm_get_ls_cache_tcb_offset (TSRM/TSRM.c).
func threadLocalX86(read func(uint64) uint64, at uint64, code []byte) (offset int64, ok bool) {
	if bytes.HasPrefix(code, endbr) {
		at, code = at+4, code[4:]
	}
	if len(code) < 7 {
		return 0, false
	}
	number := int64(int32(binary.LittleEndian.Uint32(code[3:])))
	switch {
	case bytes.HasPrefix(code, moveNumber):
		offset = number
	case bytes.HasPrefix(code, moveWord):
		offset = int64(read(at + 7 + uint64(number)))
	}
	return offset, offset != 0
}
