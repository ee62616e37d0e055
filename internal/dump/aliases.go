// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"prywalk/internal/dump/locks"
	"prywalk/internal/dump/stacks"
)

// The types of results, as callers name them.
type (
	Process   = stacks.Process
	Thread    = stacks.Thread
	Frame     = stacks.Frame
	Place     = stacks.Place
	Goroutine = stacks.Goroutine
	Task      = stacks.Task
	Lock      = locks.Lock
	Locks     = locks.Locks
)

// VerdictDeadlock is the verdict of a proven deadlock.
const VerdictDeadlock = locks.VerdictDeadlock
