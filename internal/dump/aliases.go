// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"prywalk/internal/dump/locks"
	"prywalk/internal/dump/stacks"
)

// Results are of types of package stacks (a process, and what it has) and of package locks.
type (
	// Process has the stacks of a process.
	Process = stacks.Process
	// Thread is one of its threads.
	Thread = stacks.Thread
	// Frame is a frame of a stack.
	Frame = stacks.Frame
	// Place is what a frame shows of its code.
	Place = stacks.Place
	// Goroutine is a goroutine of a Go program, with or without a thread.
	Goroutine = stacks.Goroutine
	// Task is a task, as of asyncio, whether a thread runs it or not.
	Task = stacks.Task
	// Lock is what threads wait for.
	Lock = locks.Lock
	// Locks are the locks that threads wait for: the result of [ExamineLocks].
	Locks = locks.Locks
)

// VerdictDeadlock is the verdict of a proven deadlock.
const VerdictDeadlock = locks.VerdictDeadlock
