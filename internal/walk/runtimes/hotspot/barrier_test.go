// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"testing"

	"prywalk/frames"
)

type sparse map[uint64]uint64

func (s sparse) Word(addr frames.Addr) (uint64, bool) {
	v, ok := s[addr]
	return v, ok
}

// Cut implements [frames.Memory].
func (sparse) Cut(frames.Addr) bool { return false }

// Without the word moved by an adapter, a compiled caller's sp is unknown.
func TestCompiledEntryBarrierReturnsToItsCaller(t *testing.T) {
	const sp, interpreter, compiled, argument = 0x7000, 0x1100, 0x5500, 42
	for _, x := range []struct {
		name  string
		above uint64
		stack sparse
		cfa   uint64
		ok    bool
	}{
		{"the interpreter", 0, sparse{sp: interpreter}, sp + 8, true},
		{"the interpreter, aligned", 8, sparse{sp + 8: interpreter}, sp + 16, true},
		{"two words of arguments", 0, sparse{sp: compiled, sp + 8: argument, sp + 16: 0, sp + 24: compiled}, sp + 32, true},
		{"four, aligned", 8, sparse{sp + 8: compiled, sp + 32: argument, sp + 48: compiled}, sp + 56, true},
		{"three: nothing is left of it", 0, sparse{sp: compiled, sp + 24: argument, sp + 40: argument}, 0, false},
		{"nothing there", 0, sparse{}, 0, false},
	} {
		var regs frames.Regs
		regs.Set(frames.X86RSP, sp)
		cfa, ok := fromInterpreter{begin: 0x1000, end: 0x2000, above: x.above}.Eval(&regs, x.stack, 0)
		if ok != x.ok || ok && cfa != x.cfa {
			t.Errorf("%s: %#x, %v", x.name, cfa, ok)
		}
	}
}
