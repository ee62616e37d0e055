package sampler

import "prywalk/internal/look"

// State is what a thread was doing when it was looked at.
type State = look.State

// The states, with the names that recordings use.
const (
	Running  = look.Running
	Sleeping = look.Sleeping
	Disk     = look.Disk
	Stopped  = look.Stopped
)

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
	// ExitedUnseen is the only frame of the CPU time of threads that have ended which belongs to no
	// look, and which no look stands for: they lived and died between ticks, or ran after their last.
	ExitedUnseen = "[exited unseen]"
	// Exited stands for the name of the threads whose time belongs to no look of theirs. They have no number.
	Exited = "[exited]"
)
