// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"
	"slices"
	"testing"

	"prywalk/frames"
)

func TestEveryWayOfLeavingTheInterpreterIsKnown(t *testing.T) {
	poll := slices.Concat(pollLong, []byte{0x20, 6, 0, 0}, shortBelow, clearsWord, []byte{0x20, 6, 0, 0, 0, 0, 0, 0})
	clears := slices.Concat(clearsByte, []byte{0xbe, 3, 0, 0, 0})
	const pop, ends = 0x5e, 0xe6 // rsi
	for _, c := range []struct {
		name   string
		sender uint8
		code   [][]byte
		pops   int
		moved  bool
	}{
		{"before JDK 21", frames.X86RBX, [][]byte{{pop}, senders[0].mov, {0xff, ends}}, 0, true},
		{"a native method's end", regR11, [][]byte{{pop}, senders[1].mov, {0xff, ends}}, 0, true},
		{"JDK 21", frames.X86RBX, [][]byte{{rexB, 0x5d}, senders[0].mov, poll[:7], poll[7:9], poll[9:], {rexB, 0xff, 0xe5}},
			0, true},
		{"JDK 25", frames.X86RBX, [][]byte{clears, {pop}, senders[0].mov, poll[:7], poll[7:9], poll[9:], {0xff, ends}}, 1,
			true},
		{"into a loop's code", frames.X86RDX, [][]byte{clears, {pop}, senders[2].mov, alignsSP, {0x56},
			{0xff, 0xa3, 0x90, 0, 0, 0}}, 1, false},
	} {
		whole := slices.Concat(c.code...)
		for i, at := 0, 0; i < len(c.code); i++ {
			code := slices.Concat(bytes.Repeat([]byte{0x90}, removalBytes-1-at), []byte{opLeave}, whole,
				bytes.Repeat([]byte{0x90}, removalBytes))
			l := lastRemoval(code[:2*removalBytes])
			if before := at <= l.pops; !l.found || !l.whole || l.since != at || l.sender != c.sender || before != (i <= c.pops) {
				t.Errorf("%s, instruction %d: %+v", c.name, i, l)
			}
			if moved := at > l.moves; moved != (c.moved && i > c.pops+1) {
				t.Errorf("%s, instruction %d: sp is the caller's: %v, %+v", c.name, i, moved, l)
			}
			if i+1 == len(c.code) && c.moved {
				if l := lastRemoval(code[len(c.code[i]) : len(c.code[i])+2*removalBytes]); l.found {
					t.Errorf("%s, behind the jump: %+v", c.name, l)
				}
			}
			if i+1 == len(c.code) {
				if l := lastRemoval(code[1 : 1+2*removalBytes]); l.whole {
					t.Errorf("%s, within an instruction: %+v", c.name, l)
				}
			}
			at += len(c.code[i])
		}
	}
}

// JDK 8.
func TestFrameRemovedByAnExceptionIsSkipped(t *testing.T) {
	instructions := [][]byte{
		{0x48, 0x8b, 0x5d, 0xf8}, {opLeave}, {0x5a}, {0x48, 0x8b, 0xe3}, // mov rbx, [rbp-8]; leave; pop rdx; mov rsp, rbx
		{0x49, 0x8b, 0x87, 0xa0, 2, 0, 0}, {0x49, 0xba, 0, 0, 0, 0, 0, 0, 0, 0}, {0x4d, 0x89, 0x97, 0xa0, 2, 0, 0},
		{0x50}, {0x52}, {0x48, 0x8b, 0xf2}, {0x49, 0x8b, 0xff}, // push rax; push rdx; mov rsi, rdx; mov rdi, r15
		{0xf7, 0xc4, 15, 0, 0, 0}, {0x0f, 0x84, 18, 0, 0, 0}, {0x48, 0x83, 0xec, 8}, {opCall, 1, 2, 3, 4},
		{0x48, 0x83, 0xc4, 8}, {opJump, 5, 0, 0, 0}, {opCall, 1, 2, 3, 4},
		{0x48, 0x8b, 0xd8}, {0x5a}, {0x58}, {0xff, 0xe3}, {0x90},
	}
	rbx, three, two := frames.X86RBX, exceptionState{words: 3, stored: true}, exceptionState{words: 2, stored: true}
	want := []exceptionState{2: {sender: rbx, stored: true}, {sender: rbx}, {}, {}, {}, {}, {words: 1}, two, two, two, two,
		two,
		three, three, two, two, two, two, {words: 1}, {}}
	code := slices.Concat(instructions...)
	for i, at := 0, 0; i < len(instructions); at, i = at+len(instructions[i]), i+1 {
		got, ended := exceptionRemoval(code, at)
		if within := i >= 2 && i < len(want); ended != within || within && got != want[i] {
			t.Errorf("instruction %d: %+v, %v", i, got, ended)
		}
	}
	other := slices.Concat(slices.Concat(instructions[:11]...), alignsSP, slices.Concat(instructions[17:]...))
	if got, ended := exceptionRemoval(other, bytes.Index(other, alignsSP)); got.words != -1 || !ended {
		t.Errorf("where the stack is aligned in another way: %+v, %v", got, ended)
	}
	for i := range code {
		exceptionRemoval(code[:i], len(code)/2)
		exceptionRemoval(code[i:], len(code)/2)
	}
}

func FuzzLeft(f *testing.F) {
	f.Add(append(bytes.Repeat([]byte{0x90}, 47), 0xc9, 0x5e, 0x48, 0x8b, 0xe3, 0xff, 0xe6))
	f.Fuzz(func(_ *testing.T, b []byte) {
		for n := removalBytes + 1; n <= 2*removalBytes; n++ {
			lastRemoval(append(b, make([]byte, 2*removalBytes)...)[:n])
			exceptionRemoval(b, n)
			osrFrameState(b, n, 48)
			inPollPiece(b, n, &blob{begin: 1, end: 1 << 40})
			inDeoptPiece(b, n, uint64(n))
		}
	})
}
