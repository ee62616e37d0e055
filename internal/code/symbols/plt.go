// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/code/elffile"
)

const maxStubs = 1 << 18

// stubsOf names PLT entries: linkers differ, so each jump is decoded, and its slot's relocation found.
func stubsOf(f *elffile.File, resolve func(addr uint64) string) (stubs []symbol, names []string) {
	tables := f.PLTs()
	if len(tables) == 0 {
		return nil, nil
	}
	slots := slotsOf(f, resolve)
	target := decodeStubX86
	if f.Arch() == frames.ARM64 {
		target = decodeStubARM64
	}
	for i := range tables {
		t := &tables[i]
		code, err := f.Data(t.Section)
		if err != nil {
			continue
		}
		for off := t.Header; off+t.Entry <= uint64(len(code)) && len(stubs) < maxStubs; off += t.Entry {
			if slot, ok := target(code[off:off+t.Entry], t.Section.Addr+off); ok && slots[slot] != "" {
				stubs = append(stubs, symbol{addr: t.Section.Addr + off, size: uint32(t.Entry)})
				names = append(names, cutVersion(slots[slot])+"@plt")
			}
		}
		f.Free(code)
	}
	return stubs, names
}

// nameCost is a kept name's memory beside its bytes.
const nameCost = 48

// relocSize is the size of Elf64_Rela (gABI, "Relocation"), bytes.
const relocSize = 24

func slotsOf(f *elffile.File, resolve func(addr uint64) string) map[uint64]string {
	syms, _ := f.Symbols(elffile.DynSym)
	defer f.FreeSymbols(syms)
	slots := make(map[uint64]string)
	for _, name := range [...]string{".rela.plt", ".rela.iplt", ".rela.dyn"} {
		s := f.Section(name)
		if s == nil || s.Size > relocSize<<24 {
			continue
		}
		eachReloc(f, s, func(rest []byte) bool {
			slot := binary.LittleEndian.Uint64(rest)
			info := binary.LittleEndian.Uint64(rest[8:])
			switch sym, typ := info>>32, uint32(info); {
			case sym > 0 && sym <= uint64(len(syms)):
				name := f.NameBytes(elffile.DynSym, &syms[sym-1])
				if isFunc(&syms[sym-1]) && f.Memory().Take(int64(len(name))+nameCost, "symbol names") == nil {
					slots[slot] = string(name)
				}
			case typ == uint32(elf.R_X86_64_IRELATIVE) || typ == uint32(elf.R_AARCH64_IRELATIVE):
				slots[slot] = resolve(binary.LittleEndian.Uint64(rest[16:]))
			}
			return len(slots) < maxStubs
		})
	}
	return slots
}

const relocsAtOnce = 2048

func eachReloc(f *elffile.File, s *elffile.Section, each func([]byte) bool) {
	buf := make([]byte, min(s.Size, relocsAtOnce*relocSize))
	for at := uint64(0); at+relocSize <= s.Size; {
		b := buf[:min(s.Size-at, uint64(len(buf)))]
		if b = b[:f.ReadAddr(s.Addr+at, b)]; len(b) < relocSize {
			return
		}
		at += uint64(len(buf))
		for ; len(b) >= relocSize; b = b[relocSize:] {
			if !each(b) {
				return
			}
		}
	}
}

// isFunc reports whether a dynamic symbol may be a function; undefined ones need no type.
func isFunc(s *elffile.Symbol) bool {
	return s.Type() == elf.STT_FUNC || s.Type() == elf.STT_GNU_IFUNC || s.Type() == elf.STT_NOTYPE
}

// decodeStubX86 returns an entry's slot: "jmp *disp32(%rip)", ff 25 (System V ABI for x86-64, §5.2).
func decodeStubX86(code []byte, addr uint64) (slot uint64, ok bool) {
	i := bytes.Index(code, []byte{0xff, 0x25})
	if i < 0 || i+6 > len(code) {
		return 0, false
	}
	disp := int32(binary.LittleEndian.Uint32(code[i+2:]))
	return addr + uint64(i) + 6 + uint64(int64(disp)), true
}

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
