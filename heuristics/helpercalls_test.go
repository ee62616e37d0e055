// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"testing"

	"prywalk/frames"
)

// The assembly of x265 does so.
func TestCallsOfUnalignedHelpersAreAnalyzed(t *testing.T) {
	const helper, outer, second = 0x40, 0x60, 0x80
	text := make([]byte, 0x100)
	for i := range text {
		text[i] = 0xcc
	}
	copy(text[helper:], []byte{0xc5, 0xfd, 0xf9, 0xc4, 0x48, 0x8d, 0x3c, 0x77, 0xc3}) // vpsubw; lea; ret
	copy(text[outer:], []byte{0xc5, 0xcd, 0xef, 0xf6,                                 // vpxor
		0xe8, 0xd7, 0xff, 0xff, 0xff, // call helper
		0xc5, 0xf9, 0x7e, 0xc0, 0xc5, 0xf8, 0x77, 0xc3}) // vmovd; vzeroupper; ret
	copy(text[second:], text[outer:outer+0x20])
	copy(text[second+5:], []byte{0xb7, 0xff, 0xff, 0xff})
	at := func(text []byte, pc uint64, caller bool) (frames.Rule, bool) {
		r, _, ok := New(Options{Arch: frames.X86_64, Code: bytesCode{0, text}}).Rule(frames.Query{PC: pc, AfterCall: caller})
		return r, ok && r.CFAReg == frames.X86RSP && r.CFAOff == 8 && r.Method == frames.MethodHeuristic
	}
	for _, pc := range []uint64{outer, outer + 4, outer + 9, second, second + 4} {
		if r, ok := at(text, pc, false); !ok {
			t.Errorf("%#x: no rule, only %+v", pc, r)
		}
	}
	if r, ok := at(text, outer+9, true); !ok {
		t.Errorf("the helper's caller has no rule, only %+v", r)
	}
	for what, change := range map[string]func(b []byte){
		"the helper does not return":       func(b []byte) { copy(b[helper+8:], []byte{0x0f, 0x0b}) },
		"the helper pushes a word":         func(b []byte) { copy(b[helper+4:], []byte{0x50, 0x90, 0x90, 0x90}) },
		"the call goes through a register": func(b []byte) { copy(b[outer+4:], []byte{0xff, 0xd0, 0x90, 0x90, 0x90}) },
		"the helper calls a function": func(b []byte) {
			copy(b[helper+4:], []byte{0xe8, 0x57, 0, 0, 0, 0xc3})
			b[helper+4+5+0x57] = 0xc3
		},
		"the call is out of the code": func(b []byte) { copy(b[outer+5:], []byte{0, 0, 0, 0x10}) },
	} {
		b := append([]byte(nil), text...)
		change(b)
		if r, ok := at(b, outer, false); ok {
			t.Errorf("%s: rule %+v, want none", what, r)
		}
	}
}
