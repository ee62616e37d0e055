package oracle

import (
	"testing"

	"prywalk/frames"
)

// TestReturnAddressThatAnAdapterHasMovedIsWhereItWasPut: else the shadow stack of a stretch that begins behind such a
// call drops a caller too early, and the true chain of a walk counts as wrong.
func TestReturnAddressThatAnAdapterHasMovedIsWhereItWasPut(t *testing.T) {
	const ret, sp = 0x1234, 0x7000
	for _, c := range []struct {
		name        string
		interpreted bool
		fp          uint64
		word        uint64 // at fp+8
		want        uint64
	}{
		{"compiled code", false, sp - 8, ret, sp - 8},
		{"a call", true, sp - 16, ret, sp - 8},
		{"with variables of its own", true, sp - 64, ret, sp - 8},
		{"moved up by a word", true, sp - 8, ret, sp},
		{"another word there", true, sp - 8, 5, sp - 8},
	} {
		f := frames.Frame{PC: ret, SP: sp}
		word := func(at uint64) uint64 {
			if at == c.fp+8 {
				return c.word
			}
			return 0
		}
		if got := returnSlot(&f, c.fp, c.interpreted, word); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
}
