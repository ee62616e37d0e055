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
	for _, c := range []struct {
		name string
		code []byte
		want uint32
	}{
		{"rdsspq rbx", []byte{0xf3, 0x48, 0x0f, 0x1e, 0xcb}, 1 << hwBX},
		{"rdsspd ebp", []byte{0xf3, 0x0f, 0x1e, 0xcd}, 1 << hwBP},
		{"nop", []byte{0x0f, 0x1e, 0xcd}, 0},
		{"rdfsbase r12", []byte{0xf3, 0x49, 0x0f, 0xae, 0xc4}, 1 << 12},
		{"rdgsbase ebx", []byte{0xf3, 0x0f, 0xae, 0xcb}, 1 << hwBX},
		{"wrfsbase rbx", []byte{0xf3, 0x48, 0x0f, 0xae, 0xd3}, 0},
		{"sldt ebx", []byte{0x0f, 0x00, 0xc3}, 1 << hwBX},
		{"str r13d", []byte{0x41, 0x0f, 0x00, 0xcd}, 1 << 13},
		{"smsw r14", []byte{0x49, 0x0f, 0x01, 0xe6}, 1 << 14},
		{"fnstsw ax", []byte{0xdf, 0xe0}, 1 << hwAX},
		{"loop", []byte{0xe2, 0xfe}, 1 << hwCX},
		{"cmpbexadd [rax], ecx, ebx", []byte{0xc4, 0xe2, 0x61, 0xe6, 0x08}, 1 << hwCX},
		{"vcvtsh2si ebx, xmm1", []byte{0x62, 0xf5, 0x7e, 0x08, 0x2d, 0xd9}, 1 << hwBX},
		{"vmovw ebp, xmm0", []byte{0x62, 0xf5, 0x7d, 0x08, 0x7e, 0xc5}, 1 << hwBP},
		{"add bpl, cl (APX)", []byte{0x62, 0xf4, 0x7c, 0x0c, 0x00, 0xcd}, 1 << hwBP},
		{"popcnt rbx, rcx (APX)", []byte{0x62, 0xf4, 0xfc, 0x0c, 0x88, 0xd9}, 1 << hwBX},
	} {
		if got := written(t, &abiX86, c.code); got&c.want != c.want || c.want == 0 && got != 0 {
			t.Errorf("%s writes %#x, want %#x", c.name, got, c.want)
		}
	}
}
