// SPDX-License-Identifier: Apache-2.0

package x86

import (
	"testing"
)

func TestDecoderKnowsLengthsOfNewInstructions(t *testing.T) {
	for _, c := range []struct {
		name string
		code []byte
	}{
		{"endbr64", []byte{0xf3, 0x0f, 0x1e, 0xfa}},
		{"vzeroupper", []byte{0xc5, 0xf8, 0x77}},
		{"vmovdqu ymm0, [rsi]", []byte{0xc5, 0xfe, 0x6f, 0x06}},
		{"vmovdqu64 zmm16, [rsi+64]", []byte{0x62, 0xe1, 0xfe, 0x48, 0x6f, 0x46, 0x01}},
		{"vpternlogd zmm1, zmm2, zmm3, 0xde", []byte{0x62, 0xf3, 0x6d, 0x48, 0x25, 0xcb, 0xde}},
		{"shlx rax, rdx, rcx", []byte{0xc4, 0xe2, 0xf1, 0xf7, 0xc2}},
		{"rorx rax, rdx, 7", []byte{0xc4, 0xe3, 0xfb, 0xf0, 0xc2, 0x07}},
		{"kmovd eax, k0", []byte{0xc5, 0xfb, 0x93, 0xc0}},
		{"rex2 push r16", []byte{0xd5, 0x18, 0x50}},
		{"rdsspq rax", []byte{0xf3, 0x48, 0x0f, 0x1e, 0xc8}},
		{"movabs rax, imm64", []byte{0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}},
		{"tls call with data16", []byte{0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0}},
		{"xbegin", []byte{0xc7, 0xf8, 0, 0, 0, 0}},
	} {
		in, ok := Decode(append(append([]byte{}, c.code...), 0x90, 0x90))
		if !ok || int(in.Size) != len(c.code) {
			t.Errorf("%s: length %d, %v; want %d", c.name, in.Size, ok, len(c.code))
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{0xf3, 0x0f, 0x1e, 0xfa})
	f.Add([]byte{0x62, 0xf3, 0x6d, 0x48, 0x25, 0xcb, 0xde})
	f.Add([]byte{0x66, 0x48, 0x66, 0x48, 0x8b, 0x44, 0x24})
	f.Fuzz(func(t *testing.T, b []byte) {
		if in, ok := Decode(b); ok && (in.Size == 0 || int(in.Size) > min(len(b), 15)) {
			t.Errorf("% x: length %d", b, in.Size)
		}
	})
}
