// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"testing"

	"prywalk/frames"
)

// changing is code that can change, and counts how often it is read.
type changing struct {
	bytesCode
	reads int
}

func (c *changing) ReadCode(addr uint64, buf []byte) int {
	c.reads++
	return c.bytesCode.ReadCode(addr, buf)
}

func TestRulesAreCachedUntilTheCodeChanges(t *testing.T) {
	code := &changing{bytesCode: bytesCode{base, []byte{0x48, 0x83, 0xc4, 0x18, 0xc3}}} // add rsp,24; ret
	s := New(Options{Arch: frames.X86_64, Code: code})
	ask := func(want int32) {
		t.Helper()
		if r, _, ok := s.Rule(frames.Query{PC: base}); !ok || r.CFAOff != want {
			t.Errorf("rule %+v, want rsp+%d", r, want)
		}
	}
	ask(32)
	before := code.reads
	for range 3 {
		ask(32)
	}
	if code.reads != before {
		t.Errorf("the code was read %d more times for the same query, want 0", code.reads-before)
	}
	if _, _, ok := s.Rule(frames.Query{PC: base + 4, SPOnly: true}); !ok || code.reads == before {
		t.Error("another query has no rule, or did not read the code")
	}
	code.b = []byte{0x48, 0x83, 0xc4, 0x28, 0xc3} // add rsp,40; ret
	s.Forget()
	ask(48)
}

func TestCachedRulesAreBounded(t *testing.T) {
	s := New(Options{Arch: frames.X86_64, Code: bytesCode{base, make([]byte, 16)}})
	for i := range uint64(3 * maxMemo) {
		s.Rule(frames.Query{PC: base + i})
	}
	if n := len(s.memo.rules); n > maxMemo {
		t.Errorf("%d rules are cached, want at most %d", n, maxMemo)
	}
	for i := range uint64(3 * maxMemoRows) {
		s.memo.add(frames.Query{PC: i}, memoEntry{row: new(frames.Row), ok: true})
	}
	if n := len(s.memo.rules); n > maxMemoRows+1 {
		t.Errorf("%d rules with rows are cached, want at most %d", n, maxMemoRows+1)
	}
}
