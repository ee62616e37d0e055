// SPDX-License-Identifier: Apache-2.0

package heuristics

import "testing"

func written(t *testing.T, a *abi, code []byte) (set uint32) {
	t.Helper()
	var st symbolicState
	var f flow
	st.reset(a, 0, everywhere)
	if a.step(&st, code, &f); int(f.size) != len(code) {
		t.Errorf("% x: length %d", code, f.size)
	}
	for reg, v := range st.regs {
		if !v.isStartValue(uint8(reg)) {
			set |= 1 << reg
		}
	}
	return set
}

func TestRegistersThatRareInstructionsWrite(t *testing.T) {
	const otherScratch = 1<<hwAX | 1<<hwCX | 1<<hwDX
	for _, c := range []struct {
		name string
		code []byte
		want uint32
		also uint32 // allowed, though not written
	}{
		{"rdsspq rbx", []byte{0xf3, 0x48, 0x0f, 0x1e, 0xcb}, 1 << hwBX, 0},
		{"rdsspd ebp", []byte{0xf3, 0x0f, 0x1e, 0xcd}, 1 << hwBP, 0},
		{"nop", []byte{0x0f, 0x1e, 0xcd}, 0, 0},
		{"rdfsbase r12", []byte{0xf3, 0x49, 0x0f, 0xae, 0xc4}, 1 << 12, 0},
		{"rdgsbase ebx", []byte{0xf3, 0x0f, 0xae, 0xcb}, 1 << hwBX, 0},
		{"wrfsbase rbx", []byte{0xf3, 0x48, 0x0f, 0xae, 0xd3}, 0, 0},
		{"sldt ebx", []byte{0x0f, 0x00, 0xc3}, 1 << hwBX, 0},
		{"str r13d", []byte{0x41, 0x0f, 0x00, 0xcd}, 1 << 13, 0},
		{"smsw r14", []byte{0x49, 0x0f, 0x01, 0xe6}, 1 << 14, otherScratch},
		{"rdrand r12", []byte{0x49, 0x0f, 0xc7, 0xf4}, 1 << 12, otherScratch},
		{"pconfig", []byte{0x0f, 0x01, 0xc5}, 1<<hwBX | otherScratch, 0},
		{"cpuid", []byte{0x0f, 0xa2}, 1<<hwBX | otherScratch, 0},
		{"fnstsw ax", []byte{0xdf, 0xe0}, 1 << hwAX, 0},
		{"loop", []byte{0xe2, 0xfe}, 1 << hwCX, 0},
		{"syscall", []byte{0x0f, 0x05}, 1<<hwAX | 1<<hwCX | 1<<11, 0},
		{"int 0x80", []byte{0xcd, 0x80}, 1<<hwAX | 0xf<<8, 0},
		{"mov rbx, cr4", []byte{0x0f, 0x20, 0xe3}, 1 << hwBX, 0},
		{"mov rbx, cr4 (of a memory form)", []byte{0x0f, 0x20, 0x23}, 1 << hwBX, 0},
		{"extrq xmm3, 2, 1", []byte{0x66, 0x0f, 0x78, 0xc3, 2, 1}, 0, 0},
		{"vmread rbx, rcx", []byte{0x0f, 0x78, 0xcb}, 1 << hwBX, 0},
		{"encodekey128 ebx, ecx", []byte{0xf3, 0x0f, 0x38, 0xfa, 0xd9}, 1 << hwBX, 0},
		{"encodekey256 ebp, ecx", []byte{0xf3, 0x0f, 0x38, 0xfb, 0xe9}, 1 << hwBP, 0},
		{"urdmsr rbx, rcx", []byte{0xf2, 0x0f, 0x38, 0xf8, 0xcb}, 1 << hwBX, 0},
		{"urdmsr r12, 0x1b00", []byte{0xc4, 0xc7, 0x7b, 0xf8, 0xc4, 0, 0x1b, 0, 0}, 1 << 12, 0},
		{"enqcmd rbx, [rcx]", []byte{0xf2, 0x0f, 0x38, 0xf8, 0x19}, 0, 0},
		{"cmpbexadd [rax], ecx, ebx", []byte{0xc4, 0xe2, 0x61, 0xe6, 0x08}, 1 << hwCX, 0},
		{"vcvtsh2si ebx, xmm1", []byte{0x62, 0xf5, 0x7e, 0x08, 0x2d, 0xd9}, 1 << hwBX, 0},
		{"vmovw ebp, xmm0", []byte{0x62, 0xf5, 0x7d, 0x08, 0x7e, 0xc5}, 1 << hwBP, 0},
		{"add bpl, cl (APX)", []byte{0x62, 0xf4, 0x7c, 0x0c, 0x00, 0xcd}, 1 << hwBP, 1 << hwAX},
		{"popcnt rbx, rcx (APX)", []byte{0x62, 0xf4, 0xfc, 0x0c, 0x88, 0xd9}, 1 << hwBX, otherScratch},
	} {
		if got := written(t, &abiX86, c.code); got&^c.also != c.want&^c.also || got&c.want != c.want {
			t.Errorf("%s writes %#x, want %#x", c.name, got, c.want)
		}
	}
}
