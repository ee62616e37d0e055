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

// threadLocalARM64 is for two adds in a program; adrp and ldr of a GOT entry in a library.
func threadLocalARM64(read func(uint64) uint64, at uint64, code []byte) (offset int64, ok bool) {
	var regs [32]uint64
	for ; len(code) >= 4; at, code = at+4, code[4:] {
		op := binary.LittleEndian.Uint32(code)
		to, from := &regs[op&31], regs[op>>5&31]
		number := uint64(op >> 10 & 0xfff)
		switch {
		case op&^31 == 0xaa1f03e0: // mov, xzr
			*to = 0
		case op&0x9f000000 == 0x90000000: // adrp
			pages := int64(int32(op<<8)>>13)<<2 | int64(op>>29&3)
			*to = at&^0xfff + uint64(pages<<12)
		case op&0xff800000 == 0x91000000: // add; bit 22: shifted by 12
			*to = from + number<<(op>>22&1*12)
		case op&0xffc00000 == 0xf9400000: // ldr
			*to = read(from + 8*number)
		case op == 0xd65f03c0: // ret
			return int64(regs[0]), regs[0] != 0
		case op != 0xd503245f: // bti c
			return 0, false
		}
	}
	return 0, false
}
