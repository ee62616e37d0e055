// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"testing"

	"prywalk/frames"
)

func TestCodeThatForwardsACallHasNoFrame(t *testing.T) {
	thunk := []byte{
		0x49, 0xbb, 1, 2, 3, 4, 5, 6, 0, 0, // movabs r11, …
		0x4d, 0x3b, 0xd3, // cmp r10, r11
		0x75, 0x0d, // jne
		0x49, 0xbb, 1, 2, 3, 4, 5, 6, 0, 0, 0x41, 0xff, 0x23, // movabs r11, …; jmp [r11]
		0x41, 0xbb, 1, 2, 3, 0, 0x41, 0xff, 0xe3, // mov r11d, …; jmp r11
	}
	delegate := []byte{0x48, 0x8b, 0xc7, 0x48, 0x8b, 0x78, 0x20, 0x48, 0x8b, 0x07, 0xff, 0xa0, 0x80, 0, 0, 0}
	for what, c := range map[string]struct {
		before, code []byte
		pc           uint64
		want         bool
	}{
		"thunk, start":          {[]byte{0, 0}, thunk, 0, true},
		"thunk, comparison":     {[]byte{0, 0}, thunk, 10, true},
		"thunk, second part":    {[]byte{0, 0}, thunk, 28, true},
		"delegate":              {[]byte{0xcc, 0xcc}, delegate, 7, true},
		"not after padding":     {[]byte{0x90, 0x90}, delegate, 7, false},
		"not at an instruction": {[]byte{0, 0}, delegate, 1, false},
		"pushes":                {[]byte{0, 0}, append([]byte{0x50}, delegate...), 4, false},
		"changes rbx":           {[]byte{0, 0}, append([]byte{0x48, 0x89, 0xc3}, delegate...), 6, false},
		"calls":                 {[]byte{0, 0}, append([]byte{0xe8, 0, 0, 0, 0}, delegate...), 8, false},
		"jumps back":            {[]byte{0, 0}, append([]byte{0x75, 0xfe}, delegate...), 5, false},
	} {
		text := make([]byte, 0x100)
		const start = 0x40
		copy(text[start-len(c.before):], c.before)
		copy(text[start:], c.code)
		s := New(Options{Arch: frames.X86_64, Code: bytesCode{0, text}, JIT: true})
		r, _, ok := s.Rule(frames.Query{PC: start + c.pc})
		got := ok && r.CFAReg == frames.X86RSP && r.CFAOff == 8 && r.Method == frames.MethodHeuristic
		if got != c.want {
			t.Errorf("%s: rule %+v, %v; want one without a frame: %v", what, r, ok, c.want)
		}
		if r, _, ok := s.Rule(frames.Query{PC: start + c.pc, AfterCall: true}); ok && r.CFAOff == 8 {
			t.Errorf("%s: as a caller it has a rule without a frame", what)
		}
	}
}
