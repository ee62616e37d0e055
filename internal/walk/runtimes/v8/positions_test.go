// SPDX-License-Identifier: Apache-2.0

package v8

import "testing"

func TestPositionsAreFoundInTables(t *testing.T) {
	old := []byte{0x01, 0x8c, 0x08, 0x02, 0x2c, 0x09, 0x20, 0x11, 0x34, 0x09, 0x20, 0x0b, 0x53, 0x0c, 0x74}
	now := []byte{0x02, 0x8c, 0x08, 0x07, 0x2c, 0x12, 0x20, 0x22, 0x34, 0x12, 0x20, 0x16, 0x53, 0x1b, 0x74}
	for place, want := range map[int]int{0: 269, 3: 269, 4: 277, 11: 277, 12: 290, 16: 298, 21: 277, 27: 306, 1000: 306} {
		for _, flags := range []bool{false, true} {
			table := old
			if flags {
				table = now
			}
			p, ok := positionAt(table, flags, place)
			if got := p.offset(); !ok || got != want || p.inlined() != -1 {
				t.Errorf("%d, flags %v: %d, want %d", place, flags, got, want)
			}
		}
	}
}

func TestInlinedCallsAreFoundByPositions(t *testing.T) {
	p := position(7+1)<<1 | position(3+1)<<31
	if p.offset() != 7 || p.inlined() != 3 {
		t.Errorf("%d in call %d", p.offset(), p.inlined())
	}
	if p |= 1; p.offset() != -1 {
		t.Errorf("a position in V8's own source is %d", p.offset())
	}
}

func TestBaselineCodeIsOfTheBytecodeThatItWasMadeFor(t *testing.T) {
	sizes := make([]byte, 3*20)
	sizes[5], sizes[6], sizes[20+5] = 2, 1, 3
	bytecodes := []byte{5, 0, 6, wide, 5, 0, 0, 6}
	table := []byte{4, 10, 3, 0x80 | 20, 1, 2}
	for place, want := range map[int]int{4: 0, 13: 0, 14: 2, 16: 2, 17: 3, 17 + 147: 3, 17 + 148: 7} {
		if got, ok := bytecodeAt(table, bytecodes, sizes, place); !ok || got != want {
			t.Errorf("%d: %d %v, want %d", place, got, ok, want)
		}
	}
	for _, place := range []int{0, 3, 1000} {
		if at, ok := bytecodeAt(table, bytecodes, sizes, place); ok {
			t.Errorf("%d: %d, where there is none", place, at)
		}
	}
}
