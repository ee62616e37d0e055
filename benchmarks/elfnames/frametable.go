// SPDX-License-Identifier: Apache-2.0

package elfnames

import (
	"debug/elf"
	"encoding/binary"
)

// frameTable reads .eh_frame_hdr's search table (Linux Standard Base 5, Core, §10.6.2). A function extends to the next.
func frameTable(f *elf.File) []Func {
	s := f.Section(".eh_frame_hdr")
	if s == nil || s.Size > 1<<28 {
		return nil
	}
	data, err := s.Data()
	const header = 12 // version, three encodings, pointer to .eh_frame, count
	if err != nil || len(data) < header || data[0] != 1 || data[2] != 0x03 || data[3] != 0x3b {
		return nil
	}
	n := min(uint64(binary.LittleEndian.Uint32(data[8:])), uint64(len(data)-header)/8)
	funcs := make([]Func, n)
	for i := range funcs {
		at := s.Addr + uint64(int64(int32(binary.LittleEndian.Uint32(data[header+8*i:]))))
		funcs[i].Start = at
		if i > 0 {
			funcs[i-1].End = at
		}
	}
	if n > 0 {
		funcs[n-1].End = funcs[n-1].Start + 4096
	}
	return funcs
}
