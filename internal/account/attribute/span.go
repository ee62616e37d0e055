// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"cmp"

	"prywalk/frames"
	"prywalk/internal/base/sample"
)

// Place is a thread's stack and state in a sample.
type Place struct {
	Stack sample.StackID
	State sample.State
	Wait  string
	// WaitsFor, Owner and Labels are as in [prywalk/internal/store/profile.Interval].
	WaitsFor   string
	Owner      int
	Labels     string
	WalkEnd    frames.StopReason // [frames.StopRoot]: complete
	Program    string            // "" is the process's own
	ChildState ChildState
}

func (p Place) asRunning() Place {
	p.State, p.Wait, p.WaitsFor, p.Owner = sample.Running, "", "", 0
	return p
}

// compare orders by all fields but Stack and Program.
func (p *Place) compare(o *Place) int {
	return cmp.Or(
		cmp.Compare(p.ChildState, o.ChildState), cmp.Compare(p.WalkEnd, o.WalkEnd), cmp.Compare(p.Labels, o.Labels),
		cmp.Compare(p.State, o.State), cmp.Compare(p.Wait, o.Wait), cmp.Compare(p.WaitsFor, o.WaitsFor),
		cmp.Compare(p.Owner, o.Owner))
}

// ChildState is what is known of an unobserved child's sample.
type ChildState uint8

// Values of [ChildState].
const (
	ChildWalked ChildState = iota
	ChildProgramOnly
)

func (c ChildState) leaf() string {
	if c == ChildProgramOnly {
		return ShortLivedChildren
	}
	return ""
}

// Span is a piece of a thread's time in one place; times in ns.
type Span struct {
	Place
	Leaf                string // synthetic innermost frame, or ""
	End                 int64  // CLOCK_MONOTONIC
	Samples             int64
	Wall, RunQueue, CPU int64
	Before              int64 // of an open sleep: its time before a [Cut]
}

const (
	// RanBetweenTicks is CPU and run queue time between two samples off the CPU, or while stops were suppressed.
	RanBetweenTicks = "[ran between ticks]"
	// BlockedBetweenTicks is blocked time between two samples running.
	BlockedBetweenTicks = "[blocked between ticks]"
	// NotObserved is time in which prywalk was stopped, had no CPU, or was refused a stop (no permission, another tracer,
	// --max-pause, too many pending, 32-bit code), and all time of a thread without a sample.
	NotObserved = "[not observed]"
	// InKernel is CPU time in the kernel, known by the clocks, of which no stop or sleep has shown the system call: page
	// faults and interrupts, too.
	InKernel = "[kernel]"
	// ExitedUnseen is CPU time of ended threads beyond their samples.
	ExitedUnseen = "[exited unseen]"
	// ShortLivedChildren is CPU time of children that ended before discovery, and of other children's exits.
	ShortLivedChildren = "[short-lived children]"
	// NoUserSpace is the frame of a thread without user space, as of io_uring.
	NoUserSpace = "[kernel's own thread]"
	// ExecOrExit is the frame of a child in exec or exit without kernel frames.
	ExecOrExit = "[exec or exit]"
	// ChildrenThread names threads of [ShortLivedChildren].
	ChildrenThread = "[children]"
	// ExitedThread names ended threads without samples.
	ExitedThread = "[exited]"
)

// ChildrenOf names threads of unobserved children in a program.
func ChildrenOf(program string) string { return "[children: " + program + "]" }
