// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"fmt"

	"prywalk/internal/callstack"
)

// FallbackReason is what kernel samples of a process lack. A sample has registers and one piece of one stack; a stop
// can copy more. It decides which engine samples the process, never the program's name. It is decided again after an
// exec.
type FallbackReason uint32

// What samples can lack, in order of severity.
const (
	FallbackNone    FallbackReason = iota
	FallbackStacks                 // other stacks on which a walk continues ([observe.TaskStacks])
	FallbackRoots                  // the outer ends of stacks
	FallbackSamples                // all: it runs, and gives no samples that can be walked (32-bit code)
	FallbackFrames                 // frames outside of the stack (a run-time system's plan, package managed)
	NumLacks
)

// Note describes n processes with this reason.
func (l FallbackReason) Note(n int64) string {
	switch {
	case l == FallbackFrames:
		return "an interpreter keeps its frames outside of the stack"
	case n == 1:
		return "1 process " + lacks[l]
	}
	return fmt.Sprintf("%d processes %s", n, lacks[l])
}

var lacks = [NumLacks]string{
	FallbackStacks: "with stacks in several places", FallbackRoots: "with stacks that samples do not show whole",
	FallbackSamples: "of which no samples came",
}

// TakesStops reports whether such a process is sampled by ptrace. choose: the sampler chooses the engine.
func (l FallbackReason) TakesStops(choose bool) bool {
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

// UsedStack records how many bytes of its stack a sample's walk has used. For the aggregator.
func (p *Process) UsedStack(n int64) {
	for {
		before := p.depth.Load()
		if n <= before || p.depth.CompareAndSwap(before, n) {
			return
		}
	}
}

// TakeUsedStack gives the maximum since the last call.
func (p *Process) TakeUsedStack() int64 {
	if p.depth.Load() == 0 {
		return 0
	}
	return p.depth.Swap(0)
}
