// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"prywalk/frames"
	"prywalk/internal/sample"
)

// Seen is what a look saw: where the thread was and in which state.
type Seen struct {
	Stack sample.StackID
	State sample.State
	Wait  string
	// WaitsFor and Owner are as in [profile.Interval].
	WaitsFor string
	Owner    int
	// Stop is why the walk of the stack ended: [frames.StopRoot] if the stack is complete.
	Stop frames.StopReason
	// Program is what a child ran that nobody met; "" for the process's own.
	Program string
	// Met is how a tick met a child that nobody opened.
	Met Met
}

// Met is how a tick met a child that nobody opened, on a processor.
type Met uint8

// How it may be.
const (
	MetWalked Met = iota // its stack is known
	MetUnseen            // its program is known, and no more
	MetMissed            // so too, as others were looked at: looks at others that ran the same program have its time
	MetInExec            // a look has found it in exec: it has no user's stack
	MetInExit            // in exit, so that it was not looked at
)

// leaf gives the synthetic frame that stands for a stack which is not known.
func (m Met) leaf() string {
	if m == MetUnseen || m == MetMissed {
		return ShortLivedChildren
	}
	return ""
}

// looked reports whether a look was made, and tells where the child was.
func (m Met) looked() bool { return m == MetWalked || m == MetInExec }

// Span is a piece of a thread's time, booked under a stack. Times are in nanoseconds.
type Span struct {
	Seen
	Leaf                string // synthetic frame to put inside of the stack, or ""
	End                 int64  // CLOCK_MONOTONIC
	Samples             int64  // ticks at which the thread was seen so
	Wall, RunQueue, CPU int64
}

// Synthetic frames for time that no look observed.
const (
	// RanBetweenTicks is on top of the stack in which a thread sleeps at both
	// ends of an interval, for the CPU time that it used in between.
	RanBetweenTicks = "[ran between ticks]"
	// BlockedBetweenTicks is on top of the stack of a thread that ran at both
	// ends of an interval, for the time that it was blocked in between.
	BlockedBetweenTicks = "[blocked between ticks]"
	// NotObserved is the only frame of what a thread did while nobody looked at it: prywalk was stopped, got no
	// processor, or was not allowed to look at this thread.
	NotObserved = "[not observed]"
	// ExitedUnseen is the only frame of the CPU time of threads that have ended which belongs to no look, and which
	// no look stands for. They lived and died between ticks, or ran after their last.
	ExitedUnseen = "[exited unseen]"
	// ShortLivedChildren is the only frame of the CPU time of a process's children that ended before they were met, and
	// of the last moments of others. It has the process that waited for them, and their program where ticks tell it.
	ShortLivedChildren = "[short-lived children]"
	// NoUserSpace is the only frame of a thread that never runs in user space, such as one that io_uring starts for its
	// process.
	NoUserSpace = "[kernel's own thread]"
	// ExecOrExit is the only frame of a child that was met in exec or exit, where the kernel's functions are not wanted:
	// it has no user's stack.
	ExecOrExit = "[exec or exit]"
	// Children stands for the name of the threads that [ShortLivedChildren] is about. They have no number.
	Children = "[children]"
	// Exited stands for the name of the threads whose time belongs to no look of theirs. They have no number.
	Exited = "[exited]"
)

// ChildrenOf stands for the name of the threads of children that nobody met but the kernel's samples, and that ran a
// program.
func ChildrenOf(program string) string { return "[children: " + program + "]" }
