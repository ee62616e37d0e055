// SPDX-License-Identifier: Apache-2.0

package cpython

import "testing"

// Nested "with": instructions 13 to 35 unwind to one value, 24 to 29 to two.
func TestLiveDepthIsThatOfTheInstructionsEntry(t *testing.T) {
	table := []byte{0x80 | 13, 11, 40, 1<<1 | 1, 0x80 | 24, 6, 64 | 1, 2, 2<<1 | 1, 0x80 | 30, 6, 40, 1<<1 | 1}
	for instruction, want := range map[int]int{0: 0, 12: 0, 13: 1, 23: 1, 24: 2, 29: 2, 30: 1, 35: 1, 36: 0, -1: 0} {
		if got := liveDepth(table, instruction); got != want {
			t.Errorf("instruction %d: %d values, want %d", instruction, got, want)
		}
	}
}

func FuzzLiveDepth(f *testing.F) {
	f.Add([]byte{0x80 | 13, 11, 40, 3}, 15)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0, 0, 0}, 0)
	f.Fuzz(func(t *testing.T, table []byte, instruction int) {
		if n := liveDepth(table, instruction); n < 0 || n > maxValues {
			t.Errorf("%d values", n)
		}
	})
}
