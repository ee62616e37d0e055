// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"testing"

	"prywalk/frames"
)

func jitCode(code []byte) *Source {
	return New(Options{Arch: frames.X86_64, Code: bytesCode{base, code}, JIT: true})
}

// A frame of 32 bytes and the saved rbp, with pushes around a loop, as in C2's comparison of strings.
var pushes = []byte{
	0x51,       // 0: push rcx
	0xff, 0xc9, // 1: dec ecx
	0x75, 0xfc, // 3: jne 1
	0x59,                   // 5: pop rcx
	0x48, 0x83, 0xc4, 0x20, // 6: add rsp, 32
	0x5d, // 10: pop rbp
	0xc3, // 11: ret
}

// An older stack pointer is kept in memory, as in C2's search in strings.
var realigns = []byte{
	0x48, 0x8b, 0xdc, // 0: mov rbx, rsp
	0x48, 0x83, 0xec, 0x10, // 3: sub rsp, 16
	0x53,       // 7: push rbx
	0xff, 0xc9, // 8: dec ecx
	0x5c,             // 10: pop rsp
	0x5d,             // 11: pop rbp
	0xe9, 0, 1, 0, 0, // 12: jmp to another function
}

// C2 inlines String.indexOf twice: the second search is on the path from the first one to the return.
var realignsTwice = []byte{
	0x48, 0x8b, 0xcc, // 0: mov rcx, rsp
	0x48, 0x83, 0xec, 0x10, // 3: sub rsp, 16
	0x51,       // 7: push rcx
	0xff, 0xca, // 8: dec edx
	0x75, 0xfc, // 10: jne 8
	0x5c,             // 12: pop rsp
	0x48, 0x8b, 0xcc, // 13: mov rcx, rsp
	0x51,       // 16: push rcx
	0xff, 0xca, // 17: dec edx
	0x75, 0xfc, // 19: jne 17
	0x5c,                   // 21: pop rsp
	0x48, 0x83, 0xc4, 0x20, // 22: add rsp, 32
	0x5d, // 26: pop rbp
	0xc3, // 27: ret
}

func TestWayToTheReturnGivesTheCFA(t *testing.T) {
	const rsp, rbx = frames.X86RSP, frames.X86RBX
	calls := append([]byte{0xe8, 0, 0, 0, 1}, pushes...)
	// pop rbp; jmp rax
	leaves := []byte{0x48, 0x83, 0xc4, 0x20, 0x5d, 0xff, 0xe0}
	for _, c := range []struct {
		name string
		code []byte
		at   uint64
		want CFA
	}{
		{"before a call", calls, 0, CFA{Reg: rsp, Off: 48}},
		{"a jump by a register", leaves, 0, CFA{Reg: rsp, Off: 48}},
		{"body", pushes, 0, CFA{Reg: rsp, Off: 48}},
		{"pushed", pushes, 1, CFA{Reg: rsp, Off: 56}},
		{"before a pop", pushes, 5, CFA{Reg: rsp, Off: 56}},
		{"epilogue", pushes, 10, CFA{Reg: rsp, Off: 16}},
		{"return", pushes, 11, CFA{Reg: rsp, Off: 8}},
		{"before rsp is saved", realigns, 0, CFA{Reg: rsp, Off: 16}},
		{"rsp saved in a register", realigns, 3, CFA{Reg: rbx, Off: 16}},
		{"saved", realigns, 8, CFA{Reg: rsp, Saved: true, Add: 16}},
		{"before two searches", realignsTwice, 0, CFA{Reg: rsp, Off: 48}},
		{"in the first of two searches", realignsTwice, 8, CFA{Reg: rsp, Saved: true, Add: 48}},
		{"between two searches", realignsTwice, 13, CFA{Reg: rsp, Off: 48}},
		{"in the second of two searches", realignsTwice, 17, CFA{Reg: rsp, Saved: true, Add: 48}},
	} {
		got, ok := jitCode(c.code).ReturnCFA(base+c.at, base, base+uint64(len(c.code)))
		got.FP, c.want.Straight = frames.RegRule{}, c.name != "before a call"
		if !ok || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, ok, c.want)
		}
	}
}

func TestWayBackByABranchIsNotStraight(t *testing.T) {
	code := []byte{
		0xc3,       // 0: ret
		0xff, 0xc9, // 1: dec ecx
		0x75, 0xfb, // 3: jne 0
		0xf4, // 5: hlt
	}
	got, ok := jitCode(code).ReturnCFA(base+1, base, base+uint64(len(code)))
	if !ok || got.Off != 8 || got.Straight {
		t.Errorf("%+v, %v", got, ok)
	}
}

func TestNoWayToAReturnGivesNoCFA(t *testing.T) {
	for name, code := range map[string][]byte{
		"trap":              {0x51, 0xf4},
		"endless loop":      {0x51, 0xeb, 0xfe},
		"aligned":           {0x48, 0x83, 0xe4, 0xf0, 0xc3},
		"jump elsewhere":    {0x51, 0xe9, 0, 1, 0, 0},
		"no code":           {},
		"a cut instruction": {0x48},
	} {
		if got, ok := jitCode(code).ReturnCFA(base, base, base+uint64(len(code))); ok {
			t.Errorf("%s: got %+v, want no rule", name, got)
		}
	}
}

func TestKeepsSPFollowsTheCodeToTheNextJump(t *testing.T) {
	for name, c := range map[string]struct {
		code []byte
		want bool
	}{
		"level":         {[]byte{0x48, 0x8b, 0xc3, 0xc3}, true},
		"frees a frame": {[]byte{0x48, 0x8b, 0xc3, 0x48, 0x83, 0xc4, 0x40, 0xc3}, false},
		"pops":          {[]byte{0x59, 0xc3}, false},
		"after a jump":  {[]byte{0xeb, 0x02, 0x59, 0x59}, true},
	} {
		if got := jitCode(c.code).KeepsSP(base); got != c.want {
			t.Errorf("%s: KeepsSP is %v, want %v", name, got, c.want)
		}
	}
}

func FuzzReturnCFA(f *testing.F) {
	f.Add(pushes, uint8(1))
	f.Add(realigns, uint8(8))
	f.Fuzz(func(t *testing.T, code []byte, at uint8) {
		s := jitCode(code)
		s.KeepsSP(base + uint64(at))
		if cfa, ok := s.ReturnCFA(base+uint64(at), base, base+uint64(len(code))); ok && cfa.Reg >= frames.NumRegs {
			t.Errorf("CFA relative to register %d, which does not exist", cfa.Reg)
		}
	})
}

// As HotSpot's adapters: the first moves its return address below an aligned address, the others are entered from
// outside.
var adapts = []byte{
	0x4c, 0x8b, 0xdc, // 0: mov r11, rsp
	0x58,                // 3: pop rax
	0x48, 0x83, 0xec, 8, // 4: sub rsp, 8
	0x48, 0x83, 0xe4, 0xf0, // 8: and rsp, -16
	0x50,             // 12: push rax
	0x49, 0x8b, 0xc3, // 13: mov rax, r11
	0x41, 0xff, 0xe3, // 16: jmp r11
	0x74, 15, // 19: je 36
	0x4c, 0x8b, 0xec, // 21: mov r13, rsp
	0x48, 0x83, 0xe4, 0xf0, // 24: and rsp, -16
	0xe8, 0, 0, 0, 1, // 28: call
	0x49, 0x8b, 0xe5, // 33: mov rsp, r13
	0x58,                 // 36: pop rax
	0x48, 0x83, 0xec, 16, // 37: sub rsp, 16
	0x48, 0x89, 0x04, 0x24, // 41: mov [rsp], rax
	0xff, 0xe1, // 45: jmp rcx
	0x58,       // 47: pop rax
	0x5d,       // 48: pop rbp
	0xff, 0xe1, // 49: jmp rcx
	0x90, // 51: nop
}

func TestReturnAddressIsFollowedFromTheEntryOfAnAdapter(t *testing.T) {
	const rsp, rax, r11, r13 = frames.X86RSP, frames.X86RAX, 11, frames.X86R13
	code := adapts
	at := func(reg uint8, off int64) frames.RegRule {
		return frames.RegRule{Kind: frames.RuleRegOffset, Reg: reg, Off: off}
	}
	in := frames.RegRule{Kind: frames.RuleReg, Reg: rax}
	for _, c := range []struct {
		name string
		at   uint64
		want ReturnPlace
	}{
		{"at the entry", 0, ReturnPlace{RA: at(rsp, 0), Reg: rsp, Off: 8}},
		{"taken", 4, ReturnPlace{RA: in, Reg: rsp}},
		{"aligned", 12, ReturnPlace{RA: in, Reg: r11, Off: 8}},
		{"stored again", 13, ReturnPlace{RA: at(rsp, 0), Reg: rsp, Off: 8}},
		{"entered from outside", 19, ReturnPlace{RA: at(rsp, 0), Reg: rsp, Off: 8, Entry: 19}},
		{"kept", 28, ReturnPlace{RA: at(r13, 0), Reg: r13, Off: 8, Entry: 19}},
		{"after a call", 33, ReturnPlace{RA: at(r13, 0), Reg: r13, Off: 8, Entry: 19}},
		{"where two paths join", 36, ReturnPlace{RA: at(rsp, 0), Reg: rsp, Off: 8, Entry: 19}},
		{"popped, on the second path", 41, ReturnPlace{RA: in, Reg: rsp, Off: 16, Entry: 19}},
		{"moved down", 45, ReturnPlace{RA: at(rsp, 0), Reg: rsp, Off: 16, Entry: 19}},
		{"a third entry", 48, ReturnPlace{RA: in, Reg: rsp, Entry: 47}},
	} {
		got, ok := jitCode(code).ReturnAddress(base+c.at, base, base+uint64(len(code)))
		c.want.Entry += base
		if !ok || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, ok, c.want)
		}
	}
	end := uint64(len(code))
	for name, at := range map[string]uint64{"after pop rbp": 49, "within an instruction": 1, "after the end": end} {
		if got, ok := jitCode(code).ReturnAddress(base+at, base, base+uint64(len(code))); ok {
			t.Errorf("%s: got %+v, want no rule", name, got)
		}
	}
}

func FuzzReturnAddress(f *testing.F) {
	f.Add(adapts, uint16(13))
	f.Add([]byte{0xeb, 0xfe, 0x74, 0xfe, 0xe9, 0, 0, 0, 0}, uint16(4))
	f.Fuzz(func(t *testing.T, code []byte, at uint16) {
		r, ok := jitCode(code).ReturnAddress(base+uint64(at), base, base+uint64(len(code)))
		if ok && (int(at) >= len(code) || r.RA.Kind != frames.RuleReg && r.RA.Kind != frames.RuleRegOffset) {
			t.Errorf("% x at %d: return address %+v, want one in a register or relative to one", code, at, r)
		}
	})
}
