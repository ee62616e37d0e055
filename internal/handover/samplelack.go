// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"fmt"

	"prywalk/internal/callstack"
)

// SampleLack is what kernel samples of a process lack: they have registers and one piece of one stack, where a stop
// can copy more. It decides whether the process is stopped instead; the program's name does not matter. It is reset by
// an exec.
type SampleLack uint32

// The reasons, in order of severity.
const (
	LacksNothing SampleLack = iota
	LacksStacks             // other stacks on which a walk continues ([observe.TaskStacks])
	LacksRoots              // the outer ends of stacks
	LacksSamples            // everything: the process runs, and no sample can be walked (32-bit code)
	LacksFrames             // frames outside of the stack (a run-time system's plan, package managed)
	NumSampleLacks
)

// Note describes n processes with this reason.
func (s SampleLack) Note(n int64) string {
	switch {
	case s == LacksFrames:
		return "an interpreter keeps its frames outside of the stack"
	case n == 1:
		return "1 process " + lackNotes[s]
	}
	return fmt.Sprintf("%d processes %s", n, lackNotes[s])
}

var lackNotes = [NumSampleLacks]string{
	LacksStacks: "with stacks in several places", LacksRoots: "with stacks that samples do not show whole",
	LacksSamples: "of which no samples came",
}

// NeedsStops reports whether such a process is stopped. mayFallBack reports that prywalk chooses the engine, not the
// user.
func (s SampleLack) NeedsStops(mayFallBack bool) bool {
	return s >= LacksSamples || mayFallBack && s != LacksNothing
}

// SampleLack gives what samples of the process lack, as known so far.
func (p *Process) SampleLack() SampleLack { return SampleLack(p.lack.Load()) }

// NoteLack records what samples of the process lack; the most severe reason stays. Safe for concurrent use.
func (p *Process) NoteLack(lack SampleLack) {
	for {
		before := p.lack.Load()
		if uint32(lack) <= before || p.lack.CompareAndSwap(before, uint32(lack)) {
			return
		}
	}
}

// ForgetLack makes the next samples decide again. For tests.
func (p *Process) ForgetLack() { p.lack.Store(uint32(LacksNothing)) }

// expectLack sets what samples will lack by the process's code, in place of an earlier program's reason.
func (p *Process) expectLack(furtherStacks bool) {
	lack := LacksNothing
	switch {
	case callstack.Planned(p.Target.Runtimes().Namers()):
		lack = LacksFrames
	case furtherStacks:
		lack = LacksStacks
	}
	p.lack.Store(uint32(lack))
}

// DeeperThanSample is the argument of [Process.NoteUsedStack] for a walk that the end of a sample's copy cut: the depth
// is unknown, and more than the sample has. It is greater than any stack (1 TiB), so it is the maximum of those with
// it.
const DeeperThanSample int64 = 1 << 40

// NoteUsedStack records how many bytes of a stack a sample's walk has used. For the aggregator.
func (p *Process) NoteUsedStack(n int64) {
	for {
		before := p.usedStack.Load()
		if n <= before || p.usedStack.CompareAndSwap(before, n) {
			return
		}
	}
}

// TakeUsedStack gives the maximum of NoteUsedStack since the last call.
func (p *Process) TakeUsedStack() int64 {
	if p.usedStack.Load() == 0 {
		return 0
	}
	return p.usedStack.Swap(0)
}
