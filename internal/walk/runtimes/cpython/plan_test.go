// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"testing"

	"prywalk/internal/walk/managed"
)

// Each step reads what an earlier one has loaded, and each loaded word is read. CPython 3.11 and 3.12 reach the frames
// by a structure on the C stack, whose newest one may have none yet: they copy the frames of the one before, too.
func TestThePlanOfEachReleaseLoadsWhatItReads(t *testing.T) {
	for minor, l := range layouts {
		r := newParts(&interpreter{layout: l})
		r.makePlan()
		lists := 0
		for name, steps := range map[string][]managed.Step{"plan": r.plan.Steps, "search": r.plan.FindAnchor} {
			known := map[uint8]bool{managed.SlotAnchor: name == "plan", managed.SlotSP: true, managed.SlotThreadPointer: true,
				managed.SlotInnerTID: true, managed.SlotZero: true}
			unread := map[uint8]bool{}
			for i := range steps {
				s := &steps[i]
				reads := []uint8{s.Base}
				if s.End != 0 {
					reads = append(reads, s.End)
				}
				switch s.Op {
				case managed.CopyTargets, managed.SaveNodes, managed.RestoreNodes:
					reads = nil
				case managed.CopyList:
					lists++
				}
				for _, slot := range reads {
					if delete(unread, slot); !known[slot] {
						t.Errorf("3.%d: step %d of the %s reads slot %d before it is loaded", minor, i, name, slot)
					}
				}
				if s.Op == managed.Load || s.Op == managed.FindNode {
					known[s.To], unread[s.To] = true, s.To != managed.SlotAnchor
				}
			}
			for slot, is := range unread {
				if is {
					t.Errorf("3.%d: slot %d of the %s is loaded in vain", minor, slot, name)
				}
			}
		}
		want := 1
		if minor == 11 || minor == 12 {
			want = 2
		}
		if lists != want {
			t.Errorf("3.%d copies %d chains of frames, want %d", minor, lists, want)
		}
	}
}
