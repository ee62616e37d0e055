// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"fmt"

	"prywalk/internal/callstack"
)

// FallbackReason is what kernel samples of a process lack: they have registers and one piece of one stack, where a stop
// can copy more. It decides whether the process is stopped instead; the program's name does not matter. It is reset by
// an exec.
type FallbackReason uint32

// The reasons, in order of severity.
const (
	FallbackNone    FallbackReason = iota
	FallbackStacks                 // other stacks on which a walk continues ([observe.TaskStacks])
	FallbackRoots                  // the outer ends of stacks
	FallbackSamples                // everything: the process runs, and no sample can be walked (32-bit code)
	FallbackFrames                 // frames outside of the stack (a run-time system's plan, package managed)
	NumFallbackReasons
)

// Note describes n processes with this reason.
func (l FallbackReason) Note(n int64) string {
	switch {
	case l == FallbackFrames:
		return "an interpreter keeps its frames outside of the stack"
	case n == 1:
		return "1 process " + fallbackNotes[l]
	}
	return fmt.Sprintf("%d processes %s", n, fallbackNotes[l])
}

var fallbackNotes = [NumFallbackReasons]string{
	FallbackStacks: "with stacks in several places", FallbackRoots: "with stacks that samples do not show whole",
	FallbackSamples: "of which no samples came",
}

// NeedsStops reports whether such a process is stopped. choose reports that prywalk chooses the engine, not the user.
func (l FallbackReason) NeedsStops(choose bool) bool {
	return l >= FallbackSamples || choose && l != FallbackNone
}

// FallbackReason gives what samples of the process lack, as known so far.
func (p *Process) FallbackReason() FallbackReason { return FallbackReason(p.fallback.Load()) }

// SetFallback records what samples of the process lack; the most severe reason stays. Safe for concurrent use.
func (p *Process) SetFallback(l FallbackReason) {
	for {
		before := p.fallback.Load()
		if uint32(l) <= before || p.fallback.CompareAndSwap(before, uint32(l)) {
			return
		}
	}
}

// ForgetFallback makes the next samples decide again. For tests.
func (p *Process) ForgetFallback() { p.fallback.Store(uint32(FallbackNone)) }

// expectFallback sets what samples will lack by the process's code, in place of an earlier program's reason.
func (p *Process) expectFallback(furtherStacks bool) {
	l := FallbackNone
	switch {
	case callstack.Planned(p.Target.Runtimes().Namers()):
		l = FallbackFrames
	case furtherStacks:
		l = FallbackStacks
	}
	p.fallback.Store(uint32(l))
}

// CutStack stands for the unknown depth of a cut stack.
const CutStack = 1 << 40

// UsedStack records how many bytes of a stack a sample's walk has used. For the aggregator.
func (p *Process) UsedStack(n int64) {
	for {
		before := p.usedStack.Load()
		if n <= before || p.usedStack.CompareAndSwap(before, n) {
			return
		}
	}
}

// TakeUsedStack gives the maximum of UsedStack since the last call.
func (p *Process) TakeUsedStack() int64 {
	if p.usedStack.Load() == 0 {
		return 0
	}
	return p.usedStack.Swap(0)
}
