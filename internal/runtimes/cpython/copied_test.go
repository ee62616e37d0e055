// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/managed"
)

type countedMemory struct {
	n     *int
	words map[uint64]uint64
}

func (m countedMemory) Word(at uint64) (uint64, bool) { *m.n++; v, ok := m.words[at]; return v, ok }
func (countedMemory) Cut(uint64) bool                 { return false }

func TestOnlyTheCopiedStackIsSearchedForAFrameObject(t *testing.T) {
	const object, loop, sp, size = 0x5000, 0x1000, 0x7f00_0000_0000, 1 << 30
	n := 0
	regs := &frames.Regs{Arch: frames.X86_64}
	regs.Set(frames.X86_64.SP(), sp)
	r := newParts(&interpreter{layout: layouts[10], evalLoop: []managed.Span{{Start: loop, End: loop + 64}}})
	r.view.Sample = &managed.Sample{Regs: regs, Mem: countedMemory{&n, nil}}
	r.state, r.runs = 1, []run{{record: object}}
	r.ManagedFrames(&frames.Frame{PC: loop, SP: sp}, sp+size, nil)
	var s frameSlots
	back := countedMemory{&n, map[uint64]uint64{sp + 2*size - 8: loop}}
	s.learn([]evalFrame{{sp, sp + size}, {sp + size, sp + 2*size}}, []run{{record: object}, {record: object}}, back.Word)
	if n > 1<<12 {
		t.Errorf("%d words are read, though hardly any is copied", n)
	}
}
