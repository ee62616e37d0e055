package heuristics

import (
	"testing"

	"prywalk/frames"
)

// range1 is one function.
type range1 struct{ lo, hi uint64 }

// FuncRange implements Functions.
func (r range1) FuncRange(uint64) (uint64, uint64, bool) { return r.lo, r.hi, true }

// TestPreparedStackEndsInTheMiddleOfAFunction: behind an instruction that does not go on are straight instructions, one
// call that does not return, and a trap or the function's end.
func TestPreparedStackEndsInTheMiddleOfAFunction(t *testing.T) {
	x86, arm := frames.X86_64, frames.AArch64
	for name, c := range map[string]struct {
		arch       frames.Arch
		before, at []byte
		want       bool
	}{
		"jmp rbx; xor; call; hlt": {x86, []byte{0x55, 0x90, 0xff, 0xe3},
			[]byte{0x48, 0x31, 0xff, 0xe8, 0, 1, 0, 0, 0xf4, 0x90}, true},
		"with a landing place": {x86, []byte{0x90, 0x55, 0xff, 0xe3},
			[]byte{0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xff, 0xe8, 0, 1, 0, 0, 0xf4}, true},
		"behind ret, to the end": {x86, []byte{0x90, 0x90, 0x90, 0xc3}, []byte{0x31, 0xff, 0xe8, 0, 1, 0, 0}, true},
		"returns":                {x86, []byte{0x90, 0x55, 0xff, 0xe3}, []byte{0x31, 0xff, 0xe8, 0, 1, 0, 0, 0xc3}, false},
		"calls nothing":          {x86, []byte{0x90, 0x55, 0xff, 0xe3}, []byte{0x31, 0xff, 0xf4}, false},
		"behind a call":          {x86, []byte{0x90, 0x55, 0xff, 0xd3}, []byte{0x31, 0xff, 0xe8, 0, 1, 0, 0, 0xf4}, false},
		"branches":               {x86, []byte{0x90, 0x55, 0xff, 0xe3}, []byte{0x74, 0, 0xe8, 0, 1, 0, 0, 0xf4}, false},
		"arm64: ret; mov; bl": {arm, []byte{0xc0, 0x03, 0x5f, 0xd6},
			[]byte{0, 0, 0x80, 0xd2, 0x40, 0, 0, 0x94}, true},
		"arm64: br; bl; brk": {arm, []byte{0x60, 0x02, 0x1f, 0xd6},
			[]byte{0x40, 0, 0, 0x94, 0, 0, 0x20, 0xd4, 0x1f, 0x20, 0x03, 0xd5}, true},
		"arm64: behind bl": {arm, []byte{0x40, 0, 0, 0x94}, []byte{0, 0, 0x80, 0xd2, 0x40, 0, 0, 0x94}, false},
	} {
		code := bytesCode{base, append(append([]byte{}, c.before...), c.at...)}
		end := base + uint64(len(c.before)+len(c.at))
		s := New(Options{Arch: c.arch, Code: code, Funcs: range1{base, end}})
		if got := s.EndsStack(base + uint64(len(c.before))); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
