// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"testing"

	"prywalk/frames"
)

// The return address is that of the stub's caller.
func TestFirstEntryOfAPLTOnArm64(t *testing.T) {
	// stp x16,x30,[sp,-16]!; adrp x16,.; ldr x17,[x16,#4088]; add x16,x16,#0xff8; br x17; nop (3);
	// adrp x16,.; ldr x17,[x16]; add x16,x16,#0; br x17
	words := []uint32{0xa9bf7bf0, 0xb00000f0, 0xf947fe11, 0x913fe210, 0xd61f0220, 0xd503201f, 0xd503201f, 0xd503201f,
		0xd00000f0, 0xf9400211, 0x91000210, 0xd61f0220}
	s := arm(false, words...)
	for off := uint64(0); off < 20; off += 4 {
		cfa := int32(16)
		if off == 0 {
			cfa = 0
		}
		if r := want(t, s, off, frames.ARM64SP, cfa, frames.MethodHeuristic); r.Flags&frames.FlagRAInLR == 0 {
			t.Errorf("+%d: rule %+v, want the return address in the link register", off, r)
		}
	}
	want(t, s, 32, frames.ARM64SP, 0, frames.MethodHeuristic)
	want(t, s, 44, frames.ARM64SP, 0, frames.MethodHeuristic)
}
