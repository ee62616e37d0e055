// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"testing"

	"prywalk/frames"
)

func TestJumpsOutOfAFunctionAreFound(t *testing.T) {
	for _, c := range []struct {
		name string
		code []byte
		want bool
	}{
		{"only a return", []byte{0x90, 0xc3}, false},
		{"a jump within", []byte{0xeb, 0x01, 0x90, 0xc3}, false},
		{"a branch within", []byte{0x74, 0x01, 0x90, 0xc3}, false},
		{"a long branch back to the start", []byte{0x90, 0x0f, 0x84, 0xf9, 0xff, 0xff, 0xff, 0xc3}, false},
		{"a call", []byte{0xe8, 0x00, 0x01, 0x00, 0x00, 0xc3}, false},
		{"a call by pointer", []byte{0xff, 0xd0, 0xc3}, false},
		{"a jump to the next function", []byte{0x90, 0xeb, 0x00}, true},
		{"a jump to one before", []byte{0xe9, 0xf0, 0xff, 0xff, 0xff}, true},
		{"a branch to another", []byte{0x0f, 0x85, 0x00, 0x01, 0x00, 0x00, 0xc3}, true},
		{"a jump by pointer", []byte{0xff, 0xe0}, true},
		{"a jump through a word", []byte{0xff, 0x25, 0, 0, 0, 0}, true},
		{"invalid instruction", []byte{0x06, 0xc3}, true},
		{"an instruction that is cut", []byte{0x90, 0xe8, 0x00}, true},
	} {
		n := uint64(len(c.code))
		s := New(Options{Arch: frames.X86_64, Code: bytesCode{base, c.code}, Funcs: oneFunc{base, base + n}})
		if got := s.EndsInTailCall(base); got != c.want {
			t.Errorf("%s: EndsInTailCall is %v, want %v", c.name, got, c.want)
		}
		if !s.EndsInTailCall(base+1) || !intel(c.code...).EndsInTailCall(base) {
			t.Errorf("%s: EndsInTailCall is false for a function of unknown bounds", c.name)
		}
	}
	if !arm(false, 0xd65f03c0).EndsInTailCall(base) {
		t.Error("arm64: EndsInTailCall is false for a function of unknown bounds")
	}
}

func FuzzJumpsOutOfAnyCode(f *testing.F) {
	f.Add([]byte{0x90, 0xeb, 0x00, 0xff, 0xe0})
	f.Fuzz(func(_ *testing.T, code []byte) {
		s := New(Options{Arch: frames.X86_64, Code: bytesCode{base, code},
			Funcs: oneFunc{base, base + uint64(len(code)) + 3}})
		s.EndsInTailCall(base)
	})
}

func TestJumpsOutOfAFunctionAreFoundOnArm64(t *testing.T) {
	for name, c := range map[string]struct {
		code []uint32
		want bool
	}{
		"returns":                     {[]uint32{0xd65f03c0}, false},
		"calls":                       {[]uint32{0x94000100, 0xd65f03c0}, false},
		"branches inside":             {[]uint32{0xb4000040, 0xd503201f, 0xd65f03c0}, false},
		"a tail call":                 {[]uint32{0x14000100}, true},
		"a conditional tail call":     {[]uint32{0xb4000800, 0xd65f03c0}, true},
		"a tail call on a bit":        {[]uint32{0x36000800, 0xd65f03c0}, true},
		"a switch or a tail call":     {[]uint32{0xd61f0200}, true},
		"the same, with signed reg":   {[]uint32{0xd71f0811}, true},
		"to the first one, as a loop": {[]uint32{0xd503201f, 0x17ffffff}, false},
	} {
		text := armBytes(c.code...)
		s := New(Options{Arch: frames.ARM64, Code: bytesCode{base, text}, Funcs: oneFunc{base, base + uint64(len(text))}})
		if got := s.EndsInTailCall(base); got != c.want {
			t.Errorf("%s: EndsInTailCall is %v, want %v", name, got, c.want)
		}
	}
}
