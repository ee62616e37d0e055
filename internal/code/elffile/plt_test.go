// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"debug/elf"
	"testing"

	"prywalk/frames"
)

func TestEntriesOfLinkageTables(t *testing.T) {
	f := &File{arch: frames.ARM64}
	f.Sections = []Section{
		{Name: ".plt", Addr: 0x1000, Size: 64, EntSize: 16, Flags: elf.SHF_EXECINSTR},
		{Name: ".plt.got", Addr: 0x2000, Size: 16, EntSize: 0, Flags: elf.SHF_EXECINSTR},
		{Name: ".plt.sec", Addr: ^uint64(0) - 8, Size: 64, EntSize: 16, Flags: elf.SHF_EXECINSTR},
		{Name: ".plt", Addr: 0x3000, Size: 64, EntSize: 16},
	}
	tables := f.PLTs()
	if len(tables) != 2 {
		t.Fatalf("%d tables, want those with code and a valid size", len(tables))
	}
	for _, c := range []struct{ table, addr, start, end uint64 }{
		{0, 0x0fff, 0, 0}, {0, 0x1000, 0x1000, 0x1020}, {0, 0x101f, 0x1000, 0x1020}, {0, 0x1020, 0x1020, 0x1030},
		{0, 0x103f, 0x1030, 0x1040}, {0, 0x1040, 0, 0}, {1, 0x200f, 0x2000, 0x2010}, {1, 0x2010, 0, 0},
	} {
		if start, end, _ := tables[c.table].FuncRange(c.addr); start != c.start || end != c.end {
			t.Errorf("%#x is in %#x–%#x, want %#x–%#x", c.addr, start, end, c.start, c.end)
		}
	}
}
