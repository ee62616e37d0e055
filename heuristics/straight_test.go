// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"bytes"
	"testing"

	"prywalk/frames"
)

// x265's predictions have 60 KB without a jump.
func TestLongStraightCodeIsReadToItsReturn(t *testing.T) {
	const frame = 0x28
	vector := []byte{0xc5, 0xfd, 0xfd, 0xc1}     // vpaddw ymm0, ymm0, ymm1
	end := []byte{0x48, 0x83, 0xc4, frame, 0xc3} // add rsp, 0x28; ret
	turns := map[string][]byte{
		"a branch": {0x75, 0xfe},                                           // jne to itself
		"a call":   {0xff, 0xd0},                                           // call rax
		"a jump":   {0xeb, 0x00},                                           // jmp on
		"a loop":   {0x83, 0xe9, 0x01, 0x0f, 0x85, 0x57, 0xf0, 0xff, 0xff}, // sub ecx, 1; jne back
	}
	code := func(before int, turn []byte, behind int) *Source {
		b := append(bytes.Repeat(vector, before), turn...)
		return intel(append(append(b, bytes.Repeat(vector, behind)...), end...)...)
	}
	for n, want := range map[int]bool{10: true, 10_000: true, maxSteps - 2: true, maxSteps: false} {
		r, _, ok := code(n, nil, 0).Rule(frames.Query{PC: base})
		if ok != want || ok && (r.CFAReg != frames.X86RSP || r.CFAOff != frame+8) {
			t.Errorf("%d instructions: rule %+v, %v; want one: %v", n, r, ok, want)
		}
	}
	for what, turn := range turns {
		if r, _, ok := code(10_000, turn, 100).Rule(frames.Query{PC: base}); !ok || r.CFAOff != frame+8 {
			t.Errorf("%s after 10,000 instructions: rule %+v, %v; want rsp+48", what, r, ok)
		}
		if r, _, ok := code(100, turn, maxForward).Rule(frames.Query{PC: base}); ok {
			t.Errorf("%s, and %d instructions after it: rule %+v, want none", what, maxForward, r)
		}
	}
	b := append(bytes.Repeat(vector, 10_000), 0x0f, 0x0b)
	if r, _, ok := intel(b...).Rule(frames.Query{PC: base}); ok {
		t.Errorf("code that ends in a trap: rule %+v, want none", r)
	}
}

func BenchmarkStraight(b *testing.B) {
	code := append(bytes.Repeat([]byte{0xc5, 0xfd, 0xfd, 0xc1}, maxSteps-2), 0xc3)
	s := intel(code...)
	b.ReportAllocs()
	for b.Loop() {
		a := s.analysis()
		if _, ok := a.frame(frames.Query{PC: base}); !ok {
			b.Fatal("no rule")
		}
		a.free()
	}
}
