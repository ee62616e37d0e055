// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"

	"prywalk/frames"
)

func TestInstructionsAreClassified(t *testing.T) {
	for _, c := range []struct {
		want kind
		code []byte
	}{
		{call, []byte{0xe8, 0, 0, 0, 0}},
		{call, []byte{0x66, 0x48, 0xe8, 0, 0, 0, 0}},
		{call, []byte{0xff, 0xd0}},
		{call, []byte{0x41, 0xff, 0x54, 0x24, 8}},
		{call, []byte{0xff, 0x15, 0, 0, 0, 0}},
		{plain, []byte{0xff, 0xe0}},
		{plain, []byte{0xff, 0x35, 0, 0, 0, 0}},
		{ret, []byte{0xc3, 0x90}},
		{ret, []byte{0xf3, 0xc3}},
		{ret, []byte{0xc2, 8, 0}},
		{system, []byte{0x0f, 0x05}},
		{trap, []byte{0xcc, 0x90}},
		{plain, []byte{0x0f, 0xe8, 0xc3}},
	} {
		if got := insnKind(frames.X86_64, c.code); got != c.want {
			t.Errorf("instruction % x: kind %v, want %v", c.code, got, c.want)
		}
	}
	for w, want := range map[uint32]kind{
		0x94000010: call, 0xd63f0020: call, 0xd73f0821: call, 0x14000010: plain, 0xd61f0020: jumpTo, 0xd71f0821: jumpTo,
		0xd65f03c0: ret, 0xd65f0bff: ret, 0xd4000001: system, 0xd4200000: trap, 0xd503201f: plain,
	} {
		if got := insnKind(frames.ARM64, []byte{byte(w), byte(w >> 8), byte(w >> 16), byte(w >> 24)}); got != want {
			t.Errorf("instruction %#x: kind %v, want %v", w, got, want)
		}
	}
}

func TestShadowStackPopsFramesThatWereLeft(t *testing.T) {
	s := &shadow{base: 1}
	for i := range uint64(4) {
		at := 0x7000 - 16*i
		s.push(activation{pc: 0x1000 + i, slot: at, sp: at + 8})
	}
	s.popReturned(0x1003, 0x6fd8, true, true)
	if len(s.calls) != 3 {
		t.Fatalf("%d callers after a return, want 3", len(s.calls))
	}
	s.popReturned(0x1002, 0x6fe0, false, true)
	if len(s.calls) != 3 {
		t.Fatalf("%d callers after a pop, want 3", len(s.calls))
	}
	s.popReturned(0x5000, 0x7000, false, true)
	if len(s.calls) != 1 || s.base != 1 {
		t.Fatalf("%d callers after longjmp, base %d, want 1 and 1", len(s.calls), s.base)
	}
	var regs frames.Regs
	regs.Arch, regs.PC = frames.X86_64, 0x42
	if c := s.chain(nil, &regs); len(c) != 2 || c[0].pc != 0x42 || c[1] != (want{0x1000, 0x7008}) {
		t.Fatalf("chain is %+v, want pc 0x42 and the outermost caller", c)
	}
}
