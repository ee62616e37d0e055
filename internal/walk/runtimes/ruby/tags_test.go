// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"math/bits"
	"testing"

	"prywalk/internal/walk/managed"
)

// A zero word after a tag ends a list of the other layout, too.
func TestTagsAreThoseThatJumpIntoTheInterpreter(t *testing.T) {
	const first, outer, pc, guard = 1 << 32, 1<<32 + 4096, 1<<20 + 8, 0x123456789abcdef
	mangled := bits.RotateLeft64(pc^guard, 17)
	for want, target := range []uint64{pc, mangled} {
		l := jumpLayouts[want]
		memory := map[uint64]uint64{first + l.pc: target, first + l.prev: outer, outer + l.pc: target, outer + l.prev: 0}
		get := func(addr uint64) (uint64, bool) { return memory[addr], true }
		j := tagInfo{code: managed.Span{Start: 1 << 20, End: 1<<20 + 4096}, pointerGuard: guard}
		if j.findLayout(first, get); j.layout != l {
			t.Errorf("layout %+v, not %+v", j.layout, l)
		}
		memory[first+l.pc] = first
		if fits := j.fits(first, get); fits[0] || fits[1] {
			t.Errorf("%v: tags without a target", fits)
		}
	}
}
