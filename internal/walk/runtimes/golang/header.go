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
	magic112 = 0xfffffffb // Go 1.2, with the inline trees of 1.12
	magic116 = 0xfffffffa
	magic118 = 0xfffffff0
	magic120 = 0xfffffff1
)

type header struct {
	magic     uint32 // of the layout
	foreign   bool   // the file has another magic
	quantum   uint64 // unit of pc deltas
	nfunc     uint64
	textStart uint64 // 0 since Go 1.26

	ftabAt uint64 // within funcs

	// Each slice extends to the section's end.
	names, cus, files, pctab, funcs []byte
}

const (
	headerWords118 = 8 // nfunc … pclnOffset with textStart
	headerWords116 = 7
	minHeader      = 8 + 8*headerWords116
)

func parseHeader(tab []byte, arch frames.Arch) (header, error) {
	var h header
	if len(tab) < minHeader {
		return h, fmt.Errorf("section of %d bytes: %w", len(tab), errNoTable)
	}
	h.magic = binary.LittleEndian.Uint32(tab)
	switch h.magic {
	case magic112, magic116, magic118, magic120:
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
	if h.magic == magic112 {
		return h, h.whole(tab)
	}
	return h, h.parts(tab)
}

const minHeader112 = 16

func (h *header) whole(tab []byte) error {
	h.nfunc, h.ftabAt = binary.LittleEndian.Uint64(tab[8:]), minHeader112
	end := h.ftabAt + h.nfunc*h.entrySize() + 8
	if h.nfunc == 0 || h.nfunc > math.MaxInt32 || end+4 > uint64(len(tab)) {
		return fmt.Errorf("%d functions in %d bytes: %w", h.nfunc, len(tab), errMalformed)
	}
	files := uint64(binary.LittleEndian.Uint32(tab[end:]))
	if files >= uint64(len(tab)) {
		return fmt.Errorf("offset %#x beyond section of %#x bytes: %w", files, len(tab), errMalformed)
	}
	h.names, h.files, h.pctab, h.funcs, h.cus = tab, tab, tab, tab, tab[files:]
	return nil
}

func (h *header) old() bool { return h.magic == magic112 || h.magic == magic116 }

func (h *header) parts(tab []byte) error {
	w := func(i int) uint64 { return binary.LittleEndian.Uint64(tab[8+8*i:]) }
	h.nfunc = w(0)
	first := 2 // w(1) is nfiles
	if h.magic != magic116 {
		if len(tab) < 8+8*headerWords118 {
			return fmt.Errorf("section of %d bytes: %w", len(tab), errMalformed)
		}
		h.textStart = w(2)
		first = 3
	}
	for i, p := range []*[]byte{&h.names, &h.cus, &h.files, &h.pctab, &h.funcs} {
		off := w(first + i)
		if off >= uint64(len(tab)) {
			return fmt.Errorf("offset %#x beyond section of %#x bytes: %w", off, len(tab), errMalformed)
		}
		*p = tab[off:]
	}
	if h.nfunc == 0 || h.nfunc > math.MaxInt32 || h.nfunc*h.entrySize() > uint64(len(h.funcs)) {
		return fmt.Errorf("%d functions in %d bytes: %w", h.nfunc, len(h.funcs), errMalformed)
	}
	return nil
}

// entrySize is that of the function table's entries: two addresses until Go 1.17, two 32-bit offsets since.
func (h *header) entrySize() uint64 {
	if h.old() {
		return 16
	}
	return 8
}

func quantum(a frames.Arch) uint64 {
	if a == frames.ARM64 {
		return 4
	}
	return 1
}
