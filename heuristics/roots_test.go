// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"testing"

	"prywalk/frames"
)

type range1 struct{ lo, hi uint64 }

func (r range1) FuncRange(uint64) (uint64, uint64, bool) { return r.lo, r.hi, true }

func TestPreparedStackEndsInTheMiddleOfAFunction(t *testing.T) {
	x86, arm := frames.X86_64, frames.ARM64
	for name, c := range map[string]struct {
		arch       frames.Arch
		before, at []byte
		want       bool
	}{
		"jmp rbx; xor; call; hlt": {x86, []byte{0x55, 0x90, 0xff, 0xe3},
			[]byte{0x48, 0x31, 0xff, 0xe8, 0, 1, 0, 0, 0xf4, 0x90}, true},
		"with endbr64": {x86, []byte{0x90, 0x55, 0xff, 0xe3},
			[]byte{0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xff, 0xe8, 0, 1, 0, 0, 0xf4}, true},
		"after ret, to the end": {x86, []byte{0x90, 0x90, 0x90, 0xc3}, []byte{0x31, 0xff, 0xe8, 0, 1, 0, 0}, true},
		"returns":               {x86, []byte{0x90, 0x55, 0xff, 0xe3}, []byte{0x31, 0xff, 0xe8, 0, 1, 0, 0, 0xc3}, false},
		"without a call":        {x86, []byte{0x90, 0x55, 0xff, 0xe3}, []byte{0x31, 0xff, 0xf4}, false},
		"after a call":          {x86, []byte{0x90, 0x55, 0xff, 0xd3}, []byte{0x31, 0xff, 0xe8, 0, 1, 0, 0, 0xf4}, false},
		"branches":              {x86, []byte{0x90, 0x55, 0xff, 0xe3}, []byte{0x74, 0, 0xe8, 0, 1, 0, 0, 0xf4}, false},
		"arm64: ret; mov; bl": {arm, []byte{0xc0, 0x03, 0x5f, 0xd6},
			[]byte{0, 0, 0x80, 0xd2, 0x40, 0, 0, 0x94}, true},
		"arm64: br; bl; brk": {arm, []byte{0x60, 0x02, 0x1f, 0xd6},
			[]byte{0x40, 0, 0, 0x94, 0, 0, 0x20, 0xd4, 0x1f, 0x20, 0x03, 0xd5}, true},
		// libboost-context1.74.0 and php8.2-cli for arm64 have the same instructions.
		"arm64: make_fcontext": {arm, []byte{
			0x00, 0xec, 0x7c, 0x92, 0x00, 0xc0, 0x02, 0xd1, 0x02, 0x50, 0x00, 0xf9, 0x61, 0x00, 0x00, 0x10,
			0x01, 0x4c, 0x00, 0xf9, 0xc0, 0x03, 0x5f, 0xd6,
		}, []byte{0x00, 0x00, 0x80, 0xd2, 0xa4, 0xff, 0xff, 0x97}, true},
		"make_fcontext": {x86, []byte{
			0x48, 0x8d, 0x0d, 0x08, 0x00, 0x00, 0x00, 0x48, 0x89, 0x48, 0x30, 0xc3, 0x55, 0xff, 0xe3,
		}, []byte{0x48, 0x31, 0xff, 0xe8, 0x49, 0xfe, 0xff, 0xff, 0xf4, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, true},
		"arm64: after bl": {arm, []byte{0x40, 0, 0, 0x94}, []byte{0, 0, 0x80, 0xd2, 0x40, 0, 0, 0x94}, false},
	} {
		code := bytesCode{base, append(append([]byte{}, c.before...), c.at...)}
		end := base + uint64(len(c.before)+len(c.at))
		s := New(Options{Arch: c.arch, Code: code, Funcs: range1{base, end}})
		if got := s.EndsStack(base + uint64(len(c.before))); got != c.want {
			t.Errorf("%s: EndsStack is %v, want %v", name, got, c.want)
		}
	}
}

// Zig's entry point has call frame information of a function with a caller.
func TestAnEntryPointThatClearsTheFramePointerStartsTheProcess(t *testing.T) {
	zero, land := []byte{0x31, 0xed}, []byte{0xf3, 0x0f, 0x1e, 0xfa} // xor ebp, ebp; endbr64
	rest := []byte{0x48, 0x89, 0xe7, 0xe8, 0, 1, 0, 0, 0xf4}         // mov rdi, rsp; call; hlt
	join := func(parts ...[]byte) (out []byte) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	for _, c := range []struct {
		what  string
		arch  frames.Arch
		code  []byte
		entry uint64
		pc    uint64 // from base
		after bool
		want  bool
	}{
		{"at its begin", frames.X86_64, join(zero, rest), base, 0, false, true},
		{"with a landing place", frames.X86_64, join(land, zero, rest), base, 4, false, true},
		{"behind its call", frames.X86_64, join(zero, rest), base, 10, true, true},
		{"behind its end", frames.X86_64, join(zero, rest, zero), base, 12, false, false},
		{"before it", frames.X86_64, join([]byte{0x90}, zero, rest), base + 1, 0, false, false},
		{"no frame pointer cleared", frames.X86_64, rest, base, 0, false, false},
		{"another register cleared", frames.X86_64, join([]byte{0x31, 0xff}, rest), base, 0, false, false},
		{"no entry point", frames.X86_64, join(zero, rest), 0, 0, false, false},
		{"arm64", frames.ARM64, join(zero, rest), base, 0, false, false},
		{"no code", frames.X86_64, nil, base, 0, false, false},
	} {
		s := New(Options{Arch: c.arch, Code: bytesCode{base, c.code}, Entry: c.entry})
		if got := s.StartsProcess(frames.Query{PC: base + c.pc, AfterCall: c.after}); got != c.want {
			t.Errorf("%s: %t, want %t", c.what, got, c.want)
		}
	}
}
