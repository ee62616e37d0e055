// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"slices"

	"prywalk/internal/show/dump/stacks"
)

// split is where another tool's chain departs from prywalk's. at is the first index that differs.
type split struct {
	process *process
	frames  []stacks.Frame
	other   []uint64
	at      int
}

func (s *split) inner() *stacks.Frame { return &s.frames[s.at-1] }

type class struct {
	name  string
	holds func(*split) bool
}

// Nothing returns into the callers of goRoots (runtime/asm_amd64.s); call frame information does not state that.
var goRoots = []string{"runtime.goexit", "runtime.mstart", "runtime.mcall", "runtime.rt0_go", "runtime.morestack"}

// goSwitches change stacks in the middle of a function (runtime/asm_amd64.s), unstated in call frame information.
var goSwitches = []string{"runtime.systemstack", "runtime.asmcgocall", "runtime.asmcgocall.abi0", "runtime.mcall",
	"runtime.morestack", "runtime.sigreturn__sigaction", "runtime.cgocallback", "runtime.asyncPreempt"}

var classes = []class{
	{"root of a Go stack", func(s *split) bool {
		return s.at == len(s.frames) && slices.Contains(goRoots, s.inner().Function)
	}},
	{"switch between Go's stacks", func(s *split) bool {
		return slices.Contains(goSwitches, s.inner().Function)
	}},
	{"thread start in clone3", func(s *split) bool {
		return s.at == len(s.frames) && slices.Contains([]string{"clone3", "clone", "__clone3"}, s.inner().Function)
	}},
	{"generated code", func(s *split) bool { return generated(s.inner()) }},
	{"code without call frame information", func(s *split) bool {
		caller := s.at > 1 && !trampoline(&s.frames[s.at-2])
		return !s.process.hasCFI(s.inner(), caller)
	}},
}

func classify(s *split) string {
	if s.at == 0 || s.process.proves(s.frames, s.at) != nil {
		return ""
	}
	for _, c := range classes {
		if c.holds(s) {
			return c.name
		}
	}
	return ""
}

func leaves(a, b []uint64) (at int, same bool) {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return at, at == len(a) && at == len(b)
}
