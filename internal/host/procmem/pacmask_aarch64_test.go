// SPDX-License-Identifier: Apache-2.0

package procmem

import "testing"

func TestPACMaskDependsOnTheSizeOfAddresses(t *testing.T) {
	for stack, want := range map[uint64]uint64{
		0xffff_ee12_3456: 0x007f_0000_0000_0000,
		0x7fff_ee12_3456: 0x007f_8000_0000_0000,
		0x7f_ee12_3456:   0x007f_ff80_0000_0000,
		0:                0x007f_0000_0000_0000,
	} {
		if got := pacMask(stack); got != want {
			t.Errorf("%#x: %#x, want %#x", stack, got, want)
		}
	}
	if stackAddr() == 0 {
		t.Error("the auxiliary vector has no address of the stack")
	}
}
