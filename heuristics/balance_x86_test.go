package heuristics

import (
	"testing"

	"prywalk/frames"
)

// jitCode is a source for code at base, of a JIT compiler.
func jitCode(code []byte) *Source {
	return New(Options{Arch: frames.X86_64, Code: bytesCode{base, code}, JIT: true})
}

// A method with a frame of 32 bytes and the saved rbp that pushes around a loop, as C2's comparison of strings does.
var pushes = []byte{
	0x51,       // 0: push rcx
	0xff, 0xc9, // 1: dec ecx
	0x75, 0xfc, // 3: jne 1
	0x59,                   // 5: pop rcx
	0x48, 0x83, 0xc4, 0x20, // 6: add rsp, 32
	0x5d, // 10: pop rbp
	0xc3, // 11: ret
}

// An older stack pointer is kept in memory, as C2's search in strings does.
var realigns = []byte{
	0x48, 0x8b, 0xdc, // 0: mov rbx, rsp
	0x48, 0x83, 0xec, 0x10, // 3: sub rsp, 16
	0x53,       // 7: push rbx
	0xff, 0xc9, // 8: dec ecx
	0x5c,             // 10: pop rsp
	0x5d,             // 11: pop rbp
	0xe9, 0, 1, 0, 0, // 12: jmp to another function
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
		{"before the pop", pushes, 5, CFA{Reg: rsp, Off: 56}},
		{"epilogue", pushes, 10, CFA{Reg: rsp, Off: 16}},
		{"return", pushes, 11, CFA{Reg: rsp, Off: 8}},
		{"before it is saved", realigns, 0, CFA{Reg: rsp, Off: 16}},
		{"in a register", realigns, 3, CFA{Reg: rbx, Off: 16}},
		{"saved", realigns, 8, CFA{Reg: rsp, Saved: true, Add: 16}},
	} {
		got, ok := jitCode(c.code).ReturnCFA(base+c.at, base, base+uint64(len(c.code)))
		got.FP, c.want.Straight = frames.RegRule{}, c.name != "before a call"
		if !ok || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, ok, c.want)
		}
	}
}

func TestNoWayToAReturnGivesNoCFA(t *testing.T) {
	for name, code := range map[string][]byte{
		"trap":              {0x51, 0xf4},
		"endless loop":      {0x51, 0xeb, 0xfe},
		"aligned":           {0x48, 0x83, 0xe4, 0xf0, 0xc3},
		"jump elsewhere":    {0x51, 0xe9, 0, 1, 0, 0},
		"no code":           {},
		"half of something": {0x48},
	} {
		if got, ok := jitCode(code).ReturnCFA(base, base, base+uint64(len(code))); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestLevelIsWatchedUpToTheNextJump(t *testing.T) {
	for name, c := range map[string]struct {
		code []byte
		want bool
	}{
		"level":         {[]byte{0x48, 0x8b, 0xc3, 0xc3}, true},
		"gives back":    {[]byte{0x48, 0x8b, 0xc3, 0x48, 0x83, 0xc4, 0x40, 0xc3}, false},
		"pops":          {[]byte{0x59, 0xc3}, false},
		"behind a jump": {[]byte{0xeb, 0x02, 0x59, 0x59}, true},
	} {
		if got := jitCode(c.code).LevelAfter(base); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func FuzzReturnCFA(f *testing.F) {
	f.Add(pushes, uint8(1))
	f.Add(realigns, uint8(8))
	f.Fuzz(func(t *testing.T, code []byte, at uint8) {
		s := jitCode(code)
		s.LevelAfter(base + uint64(at))
		if cfa, ok := s.ReturnCFA(base+uint64(at), base, base+uint64(len(code))); ok && cfa.Reg >= frames.NumRegs {
			t.Errorf("register %d", cfa.Reg)
		}
	})
}
