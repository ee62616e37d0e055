// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"testing"

	"prywalk/frames"
)

func TestPoppedReturnsTheRegisterOfEachWordBelowTheStackPointer(t *testing.T) {
	const none = 0xff
	for name, c := range map[string]struct {
		before, at []byte
		want       []uint8 // by units below the stack pointer
	}{
		"after all": {[]byte{0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0x41, 0x5c, 0x41, 0x5d}, []byte{0xc3},
			[]uint8{13, 12, frames.X86RBP, frames.X86RBX, none}},
		"between":        {[]byte{0x48, 0x83, 0xc4, 0x18, 0x5b}, []byte{0x5d, 0xc3}, []uint8{frames.X86RBX, none}},
		"leave":          {[]byte{0x89, 0xd8, 0xc9}, []byte{0xc3}, []uint8{frames.X86RBP, none}},
		"a tail call":    {[]byte{0x89, 0xd8, 0x5d}, []byte{0xe9, 0, 0, 0, 0}, []uint8{frames.X86RBP, none}},
		"into another":   {[]byte{0x41, 0x5c}, []byte{0xf3, 0xc3}, []uint8{12, none}},
		"no pop":         {[]byte{0x31, 0xc9}, []byte{0x48, 0x89, 0xc8}, []uint8{none}}, // xor ecx, ecx
		"no end follows": {[]byte{0x8b, 0x46, 0x5b}, []byte{0x48, 0x89, 0xc8}, []uint8{none}},
		"no code":        {nil, []byte{0xc3}, []uint8{none}},
	} {
		code := bytesCode{base, append(append([]byte{}, c.before...), c.at...)}
		s := New(Options{Arch: frames.X86_64, Code: code})
		for i, want := range c.want {
			reg, ok := s.Popped(base+uint64(len(c.before)), i+1)
			if ok != (want != none) || ok && reg != want {
				t.Errorf("%s: %d words below: register %d, %v; want %d", name, i+1, reg, ok, want)
			}
		}
	}
}

func TestCodeAboutToReturnHasRestoredItsRegisters(t *testing.T) {
	const all = 1<<frames.X86RBX | 1<<frames.X86RBP | 0xf<<12
	for name, c := range map[string]struct {
		code []byte
		want uint32
	}{
		"lea rsp, [r10-8]; ret":           {[]byte{0x49, 0x8d, 0x62, 0xf8, 0xc3}, all},
		"lea rsp, [r13-16]; pop r13; ret": {[]byte{0x49, 0x8d, 0x65, 0xf0, 0x41, 0x5d, 0xc3}, all &^ (1 << 13)},
		"ret":                             {[]byte{0xc3}, all},
		"pop rbp; lea rsp, [r10-8]; ret":  {[]byte{0x5d, 0x49, 0x8d, 0x62, 0xf8, 0xc3}, all &^ (1 << frames.X86RBP)},
		"pop r15; pop rbp; lea; ret":      {[]byte{0x41, 0x5f, 0x5d, 0x49, 0x8d, 0x62, 0xf8, 0xc3}, 0},
		"a jump":                          {[]byte{0x49, 0x8d, 0x62, 0xf8, 0xeb, 0x00, 0xc3}, 0},
		"a branch":                        {[]byte{0x75, 0x00, 0xc3}, 0},
		"a call":                          {[]byte{0xff, 0xd0, 0xc3}, 0},
		"no code":                         {nil, 0},
	} {
		intel(0xc3).RestoredAtReturn(base) // its result must not affect the next query
		if got := intel(c.code...).RestoredAtReturn(base); got != c.want {
			t.Errorf("%s: restored registers %#x, want %#x", name, got, c.want)
		}
	}
}
