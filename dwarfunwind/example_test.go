// SPDX-License-Identifier: Apache-2.0

package dwarfunwind_test

import (
	"fmt"
	"log"

	"prywalk/dwarfunwind"
	"prywalk/frames"
)

// ehFrame is the .eh_frame at 0x2000 of a file with one function of 16 bytes: "push %rbp" at 0x1000.
var ehFrame = []byte{
	0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x10, 1, 0x1b, // a CIE, augmentation zR
	0x0c, 7, 8, 0x90, 1, 0, 0, // DW_CFA_def_cfa rsp+8, DW_CFA_offset ra
	0x14, 0, 0, 0, 0x1c, 0, 0, 0, 0xe0, 0xef, 0xff, 0xff, 0x10, 0, 0, 0, 0, // an FDE for 0x1000 to 0x1010
	0x41, 0x0e, 0x10, 0x86, 2, 0, 0, // DW_CFA_advance_loc 1, DW_CFA_def_cfa_offset 16, DW_CFA_offset rbp
	0, 0, 0, 0,
}

// inMemory is a section without a file.
type inMemory []byte

func (b inMemory) View(off uint64, n int) ([]byte, error) { return b[off:][:n], nil }

// A table has the rule that holds at an instruction: here before and after "push %rbp".
func Example() {
	table, err := dwarfunwind.New(dwarfunwind.Config{Arch: frames.X86_64,
		EhFrame: dwarfunwind.Section{Addr: 0x2000, Size: uint64(len(ehFrame)), Data: inMemory(ehFrame)}})
	if err != nil {
		log.Fatal(err)
	}
	for _, pc := range []uint64{0x1000, 0x1001, 0x1010} {
		rule, _, ok := table.Rule(frames.Query{PC: pc})
		fmt.Printf("%#x: known %v, CFA = register %d + %d\n", pc, ok, rule.CFAReg, rule.CFAOff)
	}
	// Output:
	// 0x1000: known true, CFA = register 7 + 8
	// 0x1001: known true, CFA = register 7 + 16
	// 0x1010: known false, CFA = register 0 + 0
}
