// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"fmt"
	"math"

	"prywalk/frames"
)

// The magic numbers are internal/abi's PCLnTabMagic.
const (
	magic112 = 0xfffffffb // until Go 1.15
	magic116 = 0xfffffffa // until Go 1.17
	magic118 = 0xfffffff0
	magic120 = 0xfffffff1
)

type header struct {
	magic     uint32 // of the layout
	foreign   bool   // the file has another magic
	quantum   uint64 // unit of pc deltas
	nfunc     uint64 // 0 before Go 1.18
	textStart uint64 // 0 since Go 1.26

	// Each slice extends to the section's end.
	names, cus, files, pctab, funcs []byte
}

const minHeader = 8 + 8*8 // nfunc … pclnOffset

func parseHeader(tab []byte, arch frames.Arch) (header, error) {
	var h header
	if len(tab) < minHeader {
		return h, fmt.Errorf("section of %d bytes: %w", len(tab), errNoTable)
	}
	h.magic = binary.LittleEndian.Uint32(tab)
	switch h.magic {
	case magic112, magic116: // not read: a table without functions
		return h, nil
	case magic118, magic120:
	default: // obfuscators replace it (garble, internal/linker), and keep the newest layout
		h.magic, h.foreign = magic120, true
	}
	h.quantum = uint64(tab[6])
	if tab[4] != 0 || tab[5] != 0 || tab[7] != 8 || h.quantum != quantum(arch) {
		if h.foreign {
			return h, fmt.Errorf("header % x: %w", tab[:8], errNoTable)
		}
		return h, fmt.Errorf("header % x for %v: %w", tab[:8], arch, errMalformed)
	}
	return h, h.parts(tab)
}

func (h *header) parts(tab []byte) error {
	w := func(i int) uint64 { return binary.LittleEndian.Uint64(tab[8+8*i:]) }
	h.nfunc, h.textStart = w(0), w(2) // w(1) is nfiles
	for i, p := range []*[]byte{&h.names, &h.cus, &h.files, &h.pctab, &h.funcs} {
		off := w(3 + i)
		if off >= uint64(len(tab)) {
			return fmt.Errorf("offset %#x beyond section of %#x bytes: %w", off, len(tab), errMalformed)
		}
		*p = tab[off:]
	}
	if h.nfunc == 0 || h.nfunc > math.MaxInt32 || h.nfunc*ftabEntry > uint64(len(h.funcs)) {
		return fmt.Errorf("%d functions in %d bytes: %w", h.nfunc, len(h.funcs), errMalformed)
	}
	return nil
}

// ftabEntry is the size of the function table's entries: two 32-bit offsets.
const ftabEntry = 8

func quantum(a frames.Arch) uint64 {
	if a == frames.ARM64 {
		return 4
	}
	return 1
}
