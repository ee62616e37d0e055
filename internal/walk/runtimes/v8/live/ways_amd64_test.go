// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets/observed"
)

// The first thread is single-stepped through builtins that call by generators, spread, apply, call, bind, and others.
func TestCallsByBuiltinsAreWalkedAtEveryInstruction(t *testing.T) {
	eachMode(t, []string{"jsways.js"}, modes, func(t *testing.T, s *stepped) {
		var n wayCounts
		for n.Steps < steps(2*segment) || n.Leaves == 0 && n.Steps < 50*steps(2*segment) {
			s.runOn(t, inWays)
			for range segment {
				n.check(t, s)
			}
		}
		t.Logf("%+v", n)
		if n.Leaves == 0 {
			t.Errorf("no leaf in %d stacks, %d of them with a known gap", n.Steps, n.Gaps)
		}
	})
}

type wayCounts struct{ Steps, Leaves, Faults, Gaps int }

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
	fault := ""
	if !complete {
		fault = fmt.Sprintf("incomplete: %v", s.walker.StopReason())
	} else if !slices.ContainsFunc(stack, call.lost) {
		fault = n.uncalled(ways(stack))
	}
	switch {
	case fault == "":
	case s.hasGap():
		n.Gaps++
	default:
		if n.Faults++; n.Faults < 5 {
			t.Errorf("%s: %s: %v", s.host.Function(regs.PC), fault, stack)
		}
	}
}

// uncalled checks the callers of functions, innermost first: viaX of leafX, main of viaX. It returns the first fault,
// or "".
func (n *wayCounts) uncalled(names []string) string {
	for i, name := range names {
		want := "main"
		if what, leaf := strings.CutPrefix(name, "leaf"); leaf {
			n.Leaves++
			want = "via" + what
		}
		if name != "main" && (i+1 == len(names) || names[i+1] != want) {
			return name + " is not called by " + want
		}
	}
	return ""
}

// hasGap reports whether the stack has one of the builtins where some instructions have no rule, or a wrong one: the
// first returns to optimized code that it has found, the second replaces its frame, and the third's tail call moves the
// return address.
func (s *stepped) hasGap() bool {
	return slices.ContainsFunc(s.pcs, func(pc frames.Addr) bool {
		name, _, _ := strings.Cut(s.host.Function(pc), "+")
		return name == "Builtins_BaselineOutOfLinePrologue" || name == "Builtins_GetProperty" ||
			strings.HasPrefix(name, "Builtins_DeoptimizationEntry")
	})
}
