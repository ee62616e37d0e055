// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"sync/atomic"

	"prywalk/internal/base/tabular"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/watch/observe"
)

// SampleLack is what a process's kernel samples lack: they have registers and one piece of one stack.
type SampleLack int64

// By rank: RaiseLack keeps the higher one. From LacksSamples on, samples are not used even if the user chose them.
const (
	LacksNothing     SampleLack = iota
	LacksStacks                 // other stacks on which a walk continues (observe.NewTaskStacks)
	LacksOuterFrames            // the ends of stacks, as incomplete samples have shown
	LacksSamples                // everything: no sample can be walked (32-bit code)
	LacksFrames                 // frames outside of the stack (package managed)
	NumSampleLacks
)

// Note describes n processes.
func (s SampleLack) Note(n int64) string {
	note := &lackNotes[s]
	return fmt.Sprintf("%d %s, %s", n, tabular.Noun(n, note.what), note.why)
}

var lackNotes = [NumSampleLacks]struct{ what, why string }{
	LacksStacks:      {"Go program", "whose threads change stacks"},
	LacksOuterFrames: {"process", "whose stacks kernel samples do not show whole"},
	LacksSamples:     {"process", "of which no usable kernel samples came"},
	LacksFrames:      {"Python, PHP or Ruby program", "whose frames are outside of the stack"},
}

// NeedsStops reports that such a process is stopped. mayFallBack means that prywalk, not the user, chooses the engine.
func (s SampleLack) NeedsStops(mayFallBack bool) bool {
	return s >= LacksSamples || mayFallBack && s != LacksNothing
}

// SampleLack returns the lack known so far.
func (p *Process) SampleLack() SampleLack { return SampleLack(p.lack.Load()) }

// RaiseLack records a lack; the highest one remains. Safe for concurrent use.
func (p *Process) RaiseLack(lack SampleLack) { raise(&p.lack, int64(lack)) }

// ExpectedLack returns the lack by the present code.
func ExpectedLack(t *loadedcode.Process) SampleLack {
	return expectedLack(t, observe.NewTaskStacks(t) != nil)
}

func expectedLack(t *loadedcode.Process, furtherStacks bool) SampleLack {
	switch {
	case callstack.HasPlan(t.Runtimes().FrameSources()):
		return LacksFrames
	case furtherStacks:
		return LacksStacks
	}
	return LacksNothing
}

func raise(greatest *atomic.Int64, n int64) {
	for before := greatest.Load(); n > before && !greatest.CompareAndSwap(before, n); before = greatest.Load() {
	}
}
