// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
)

// Without the moved address, the shadow stack of a stretch that begins after such a call drops a caller too early.
func TestReturnAddressMovedByAnAdapterIsFound(t *testing.T) {
	const ret, sp = 0x1234, 0x7000
	for _, c := range []struct {
		name   string
		callee javaCallee
		there  uint64
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
			t.Errorf("%s: the return address is at %#x, want %#x", c.name, got, c.want)
		}
	}
}

func TestReturnAddressMovedByTheInterpreterIsFound(t *testing.T) {
	const sp, ret = 0x7040, 0x1234
	for name, c := range map[string]struct {
		callee javaCallee
		at     uint64
		want   uint64
	}{
		"variables above":               {javaCallee{interpreted: true, sp: sp - 64, fp: sp - 40}, sp - 32, sp - 32},
		"right below the caller's":      {javaCallee{interpreted: true, sp: sp - 64, fp: sp - 16}, sp - 8, sp - 8},
		"another word there":            {javaCallee{interpreted: true, sp: sp - 64, fp: sp - 40}, sp - 24, 0},
		"a compiled method":             {javaCallee{sp: sp - 64, fp: sp - 40}, sp - 32, 0},
		"rbp is still the caller's own": {javaCallee{interpreted: true, sp: sp - 8, fp: sp + 32}, sp + 40, 0},
	} {
		b := make([]byte, 0x80)
		binary.LittleEndian.PutUint64(b[c.at-(sp-0x40):], ret)
		o := &javaRun{snap: frames.Snapshot{Stack: frames.Region{Addr: sp - 0x40, Bytes: b}, StackEnd: sp + 0x40}}
		if got := o.found(&frames.Frame{PC: ret, SP: sp}, &c.callee); got.kept != c.want || got.slot != sp-8 {
			t.Errorf("%s: the caller is %+v, want the return address at %#x", name, got, c.want)
		}
	}
}
