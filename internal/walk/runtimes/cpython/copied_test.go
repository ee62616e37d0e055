// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

type countedMemory struct {
	n     *int
	words map[uint64]uint64
}

func (m countedMemory) Word(at uint64) (uint64, bool) { *m.n++; v, ok := m.words[at]; return v, ok }
func (countedMemory) Cut(uint64) bool                 { return false }

func TestOnlyTheCopiedStackIsSearchedForAFrameObject(t *testing.T) {
	const object, loop, sp, size = 0x5000, 0x1000, 0x7f00_0000_0000, 1 << 30
	regs := &frames.Regs{Arch: frames.X86_64}
	regs.Set(frames.X86_64.SP(), sp)
	for name, c := range map[string]struct {
		copied map[uint64]uint64
		found  bool
	}{
		"nothing copied":         {nil, false},
		"the object in the copy": {map[uint64]uint64{sp + 800: object}, true},
		"beyond many holes":      {map[uint64]uint64{sp + 16*maxHoles: object}, false},
	} {
		n := 0
		r := newParts(&interpreter{layout: layouts[10], evalLoop: []managed.Span{{Start: loop, End: loop + 64}}})
		r.view.Sample = &managed.Sample{Regs: regs, Mem: countedMemory{&n, c.copied}}
		r.merge.chain.state, r.merge.chain.runs = 1, []run{{record: object}}
		_, replaces := r.ManagedFrames(&frames.Frame{PC: loop, SP: sp}, sp+size, nil)
		if replaces != c.found || (r.merge.nextRun == 1) != c.found {
			t.Errorf("%s: found %t, run %d", name, replaces, r.merge.nextRun)
		}
		if n > 1<<12 {
			t.Errorf("%s: %d words are read, though hardly any is copied", name, n)
		}
	}
}

func TestOnlyTheCopiedStackIsSearchedForAFrameSlot(t *testing.T) {
	const object, loop, sp, size, off = 0x5000, 0x1000, 0x7f00_0000_0000, 1 << 30, 64
	const cfa = sp + 2*size
	n := 0
	var s frameSlots
	copied := countedMemory{&n, map[uint64]uint64{cfa - 8: loop}}
	for at := uint64(cfa - 16); at >= cfa-off; at -= 8 {
		copied.words[at] = 0
	}
	copied.words[cfa-off] = object
	s.learn([]evalFrame{{sp, sp + size}, {sp + size, cfa}}, []run{{record: object}, {record: object}}, copied.Word)
	if slot := s[loop]; slot == nil || len(slot.offsets) != 1 || slot.offsets[0] != off {
		t.Errorf("%+v, want a slot at %d", slot, off)
	}
	if n > 1<<12 {
		t.Errorf("%d words are read, though hardly any is copied", n)
	}
}
