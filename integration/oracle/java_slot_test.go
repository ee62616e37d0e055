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
		name   string
		callee javaCallee
		there  uint64 // the word at the stack pointer
		want   uint64
	}{
		{"compiled code", javaCallee{fp: sp - 8}, ret, sp - 8},
		{"a call", javaCallee{interpreted: true, fp: sp - 16}, ret, sp - 8},
		{"with variables of its own", javaCallee{interpreted: true, fp: sp - 64}, ret, sp - 8},
		{"moved up by a word", javaCallee{interpreted: true, fp: sp - 8}, ret, sp},
		{"another word there", javaCallee{interpreted: true, fp: sp - 8}, 5, sp - 8},
		{"a method begins", javaCallee{innermost: true, sp: sp}, ret, sp},
		{"its frame begins", javaCallee{innermost: true, sp: sp - 8}, ret, sp},
		{"called just now", javaCallee{innermost: true, sp: sp - 8}, 5, sp - 8},
		{"the return address taken", javaCallee{innermost: true, sp: sp}, 5, sp - 8},
	} {
		f := frames.Frame{PC: ret, SP: sp}
		word := func(at uint64) uint64 { return map[uint64]uint64{sp: c.there}[at] }
		if got := c.callee.returnSlot(&f, word); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
}
