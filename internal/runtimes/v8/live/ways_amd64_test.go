// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/testtargets/observed"
)

// The first thread is single-stepped through builtins that call by generators, spread, apply, call, bind, and others.
func TestCallsByBuiltinsAreWalkedAtEveryInstruction(t *testing.T) {
	eachMode(t, []string{"jsways.js"}, modes, func(t *testing.T, s *stepped) {
		var n wayCounts
		for n.Steps < steps(2*segment) {
			s.runOn(t, inWays)
			for range segment {
				n.check(t, s)
			}
		}
		t.Logf("%+v", n)
	})
}

type wayCounts struct{ Steps, Leaves, Wrong, Incomplete, NoFrame int }

func inWays(stack []call) bool { return len(ways(stack)) > 0 }

// ways returns the functions of jsways.js, innermost first, without their classes.
func ways(stack []call) (names []string) {
	for _, c := range stack {
		if c.file == "jsways.js" {
			names = append(names, c.name[strings.LastIndexByte(c.name, '.')+1:])
		}
	}
	return names
}

func (n *wayCounts) check(t *testing.T, s *stepped) {
	regs := observed.Step(t, s.p.PID)
	stack, complete := s.stackWithNewCode(t, regs)
	n.Steps++
	switch {
	case complete:
	case s.makesCallersFrame(regs.PC): // a known gap
		n.NoFrame++
	default:
		if n.Incomplete++; n.Incomplete < 5 {
			t.Errorf("%#x: incomplete: %v, %v", regs.PC, s.walker.StopReason(), stack)
		}
	}
	if slices.ContainsFunc(stack, call.lost) {
		return
	}
	names := ways(stack)
	for i, name := range names {
		want := "main"
		if what, leaf := strings.CutPrefix(name, "leaf"); leaf {
			n.Leaves++
			want = "via" + what
		}
		if name == "main" || i+1 < len(names) && names[i+1] == want {
			continue
		}
		if n.Wrong++; n.Wrong < 5 {
			t.Errorf("%#x: %s not called by %s: %v", regs.PC, name, want, stack)
		}
	}
}

// makesCallersFrame reports whether pc is in the two instructions behind the pop of pop r11 or r15; push rbp; mov rbp,
// rsp. The builtin that begins baseline code makes its caller's frame so.
func (s *stepped) makesCallersFrame(pc uint64) bool {
	var code [9]byte
	s.p.Read(pc-3, code[:])
	pushAt := func(i int) bool {
		pop := code[i-2] == 0x41 && code[i-1]&^7 == 0x58
		return pop && code[i] == 0x55 && bytes.HasPrefix(code[i+1:], []byte{0x48, 0x89, 0xe5})
	}
	return pushAt(3) || pushAt(2)
}
