// SPDX-License-Identifier: Apache-2.0

package core

import (
	"debug/elf"
	"testing"

	"prywalk/internal/code/elffile"
	"prywalk/internal/code/loadedcode"
)

func TestMappingsOfAFileThatShowItsCode(t *testing.T) {
	f := &elffile.File{}
	f.Segments = []elffile.Segment{
		{Type: elf.PT_LOAD, Off: 0, FileSize: 0x76e000},
		{Type: elf.PT_LOAD, Flags: elf.PF_X, Off: 0x76f010, FileSize: 0x1a91000},
		{Type: elf.PT_LOAD, Off: 0x2201000, FileSize: 0x3038000},
	}
	for _, c := range []struct {
		name      string
		off, size uint64
		continues bool
		want      bool
	}{
		{"the headers", 0, 0x76f000, false, false},
		{"the code", 0x76f000, 0x1a92000, false, true},
		{"the rest of the code, after a part that was changed", 0x770000, 0x1a91000, true, true},
		{"what V8 maps again of it", 0x14c4000, 0x192000, false, true},
		{"the data", 0x2201000, 0x3039000, false, false},
		{"the whole file, to be read", 0, 0x523d000, false, false},
		{"a piece of it, to be read", 0x700000, 0x200000, false, false},
		{"nothing", 0x6000000, 0x1000, true, false},
	} {
		m := loadedcode.MapsLine{Start: 0x7f0000000000, End: 0x7f0000000000 + c.size, Offset: c.off}
		if got := showsCode(f, &m, c.continues); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
