// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"fmt"

	"prywalk/internal/callstack"
)

// Lack says what the kernel's samples lack of a process. A sample has registers and one piece of one stack, where a
// stop can copy more. So each process says what its samples lack, and the engine is chosen by that, never by a
// program's name. A process that runs another program is judged anew.
type Lack uint32

// What samples can lack, the worst last.
const (
	LacksNothing Lack = iota
	LacksStacks       // further stacks that a walk goes on to, as the code image tells beforehand ([look.TaskStacks])
	LacksRoots        // the outer ends of stacks, for whatever reason
	LacksSamples      // all: it runs, and none come that can be walked (32-bit code)
	LacksFrames       // frames that lie elsewhere than on the stack (a run-time system's plan, package managed)
	NumLacks
)

// Note describes n processes of which samples lack this.
func (l Lack) Note(n int64) string {
	switch {
	case l == LacksFrames:
		return "Python keeps its frames on the heap"
	case n == 1:
		return "1 process " + lacks[l]
	}
	return fmt.Sprintf("%d processes %s", n, lacks[l])
}

var lacks = [NumLacks]string{
	LacksStacks: "with stacks in several places", LacksRoots: "with stacks that samples do not show whole",
	LacksSamples: "of which no samples came",
}

// TakesStops reports whether ptrace is to look at such a process. choose: the choice is the sampler's.
func (l Lack) TakesStops(choose bool) bool { return l >= LacksSamples || choose && l != LacksNothing }

// Lack gives what samples lack of the process, as far as is known.
func (p *Process) Lack() Lack { return Lack(p.lack.Load()) }

// Lacks notes what samples lack of the process. What it lacks most stays, also where the tracer and the accountant
// note something at once.
func (p *Process) Lacks(l Lack) {
	for {
		before := p.lack.Load()
		if uint32(l) <= before || p.lack.CompareAndSwap(before, uint32(l)) {
			return
		}
	}
}

// ForgetLack has the process judged anew.
func (p *Process) ForgetLack() { p.lack.Store(uint32(LacksNothing)) }

// foreseeLack says what samples will lack of the process, by its code.
func (p *Process) foreseeLack(furtherStacks bool) {
	l := LacksNothing
	switch {
	case callstack.Planned(p.Target.Namers()):
		l = LacksFrames
	case furtherStacks:
		l = LacksStacks
	}
	p.lack.Store(uint32(l))
}

// CutStack is the depth of a stack that was cut, in bytes: nobody knows it.
const CutStack = 1 << 40

// UsedStack notes how many bytes of its stack the walk of a sample has used. It is the accountant's to tell.
func (p *Process) UsedStack(n int64) {
	for {
		before := p.depth.Load()
		if n <= before || p.depth.CompareAndSwap(before, n) {
			return
		}
	}
}

// TakeUsedStack gives the most that was noted since the last call.
func (p *Process) TakeUsedStack() int64 {
	if p.depth.Load() == 0 {
		return 0
	}
	return p.depth.Swap(0)
}
