// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"slices"

	"prywalk/frames"
)

const maxReferenced = 64

func (t *funcs) referencedAddresses(function string) (out []uint64) {
	for _, pc := range t.funcByName(function) {
		f, _ := t.find(pc)
		code := t.codeOf(&f)
		add := func(at uint64) bool {
			if !slices.Contains(out, at) {
				out = append(out, at)
			}
			return len(out) < maxReferenced
		}
		if t.img.Arch == frames.ARM64 {
			referencedARM64(f.entry, code, add)
		} else {
			walkX86(f.entry, code, func(in *insn, next uint64) bool {
				return !in.RIPRel || in.Mod == 3 || add(next+uint64(int64(in.Disp)))
			})
		}
	}
	return out
}

// referencedARM64 calls f with each address made by adrp and the next instruction (add, load, store).
func referencedARM64(pc uint64, code []byte, f func(uint64) bool) {
	for ; len(code) >= 8; code, pc = code[4:], pc+4 {
		adrp, next := binary.LittleEndian.Uint32(code), binary.LittleEndian.Uint32(code[4:])
		if adrp&0x9f000000 != 0x90000000 || next>>5&31 != adrp&31 {
			continue
		}
		pages := int64(int32(adrp<<8)>>13)<<2 | int64(adrp>>29&3)
		at := pc&^0xfff + uint64(pages<<12)
		_, _, _, off, ok := memARM64(next)
		switch {
		case ok:
			at += uint64(off)
		case next&0xffc00000 == 0x91000000: // add, 64 bits, not shifted
			at += uint64(next >> 10 & 0xfff)
		default:
			continue
		}
		if !f(at) {
			return
		}
	}
}
