// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"debug/elf"
	"prywalk/internal/base/wire"
)

// DW_EH_PE_pcrel | DW_EH_PE_sdata4, the encoding of .eh_frame_hdr's pointer to .eh_frame (LSB 5.0, §10.5).
const ehPtrPCRel4 = 0x1b

// EhFrame returns .eh_frame_hdr and .eh_frame, nil if missing or without contents. Without section headers the program
// headers give them, .eh_frame with all that follows it in its segment.
func (f *File) EhFrame() (hdr, frame *Window) {
	hdr, _ = f.Window(f.Section(".eh_frame_hdr"))
	frame, _ = f.Window(f.Section(".eh_frame"))
	if s := f.segment(elf.PT_GNU_EH_FRAME); s != nil && f.Section(".eh_frame_hdr") == nil {
		hdr, _ = f.windowAt(s.VAddr, s.FileSize)
	}
	if hdr == nil || f.Section(".eh_frame") != nil {
		return hdr, frame
	}
	if b, err := hdr.View(0, 8); err == nil && b[0] == 1 && b[1] == ehPtrPCRel4 {
		c := &wire.Cursor{Bytes: b[4:]}
		frame, _ = f.windowAt(hdr.addr+4+uint64(int64(int32(c.U32()))), ^uint64(0))
	}
	return hdr, frame
}
