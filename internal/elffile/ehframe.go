// SPDX-License-Identifier: Apache-2.0

package elffile

import "prywalk/internal/wire"

// ehPtrPCRel4 is the encoding of the pointer to .eh_frame that linkers write
// into .eh_frame_hdr: DW_EH_PE_pcrel | DW_EH_PE_sdata4 (LSB 5.0, §10.5).
const ehPtrPCRel4 = 0x1b

// EhFrame gives the .eh_frame_hdr and .eh_frame of the file, each nil if it is not there. Where section headers are
// missing they are found by the program headers. Then the end of .eh_frame is not known, and its window reaches to
// the end of the segment (the section itself may end in a zero length). In a file with debug information only, the
// sections are there without contents, and both are nil.
func (f *File) EhFrame() (hdr, frame *Window) {
	hdr, _ = f.Window(f.Section(".eh_frame_hdr"))
	frame, _ = f.Window(f.Section(".eh_frame"))
	if s := f.segment(SegEhFrame); s != nil && f.Section(".eh_frame_hdr") == nil {
		hdr, _ = f.WindowAt(s.VAddr, s.FileSize)
	}
	if hdr == nil || f.Section(".eh_frame") != nil {
		return hdr, frame
	}
	if b, err := hdr.View(0, 8); err == nil && b[0] == 1 && b[1] == ehPtrPCRel4 {
		c := &wire.Cursor{Bytes: b[4:]}
		frame, _ = f.WindowAt(hdr.addr+4+uint64(int64(int32(c.U32()))), ^uint64(0))
	}
	return hdr, frame
}
