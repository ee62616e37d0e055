// SPDX-License-Identifier: Apache-2.0

package stacks

import "prywalk/internal/walk/managed"

// Goroutine is a goroutine of a Go program, with or without a thread.
type Goroutine struct {
	ID uint64 `json:"id"`
	// Runtime is the file with its runtime, where the process has several. Each has IDs of its own.
	Runtime string `json:"runtime,omitempty"`
	// Status is a word of Go's runtime: runnable, running, syscall, waiting, preempted, leaked, copystack; or
	// unknown.
	Status string `json:"status"`
	// Wait is the reason of its wait, in the words of Go's runtime.
	Wait string `json:"wait,omitempty"`
	// Since is for how long it has waited, in nanoseconds, by Go's runtime: since the garbage collection before
	// the first one that found the wait. 0: not known.
	Since int64 `json:"since_ns,omitempty"`
	// Parent is the goroutine that created it, 0 if not known; CreatedBy is the function.
	Parent    uint64            `json:"parent,omitempty"`
	CreatedBy string            `json:"created_by,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Thread is the thread that it ran on, 0 for none.
	Thread int `json:"thread,omitempty"`
	// System: it belongs to Go's runtime.
	System     bool    `json:"system,omitempty"`
	Complete   bool    `json:"complete"`
	StopReason string  `json:"stop_reason"`
	Frames     []Frame `json:"frames"`

	// Created is the place in CreatedBy.
	Created *Place `json:"-"`
	// Awaits and Holds are set only if locks are examined.
	Awaits []GoroutineWait `json:"-"`
	Holds  []HeldGoLock    `json:"-"`
	// Unchanged reads the goroutine again and reports whether it has not run; nil unless locks are examined.
	Unchanged func() bool `json:"-"`
	StackLow  uint64      `json:"-"`
	StackHigh uint64      `json:"-"`
}

// Stack returns the goroutine's frames as those of a thread.
func (g *Goroutine) Stack() *Thread {
	return &Thread{Frames: g.Frames, Complete: g.Complete, StopReason: g.StopReason}
}

// Kinds of what goroutines wait for.
const (
	KindMutex     = "sync.Mutex"
	KindRWMutex   = "sync.RWMutex"
	KindWaitGroup = "sync.WaitGroup"
	KindCond      = "sync.Cond"
	KindSemaphore = "semaphore"
	KindChannel   = "chan"
)

// Leaked is the status of a goroutine that nothing can wake, by Go's garbage collector.
const Leaked = "leaked"

// GoroutineWait is what a goroutine waits for.
type GoroutineWait struct {
	managed.TaskWait
	Kind   string
	Symbol string
	Reads  bool
}

// HeldGoLock is a lock that a goroutine likely holds.
type HeldGoLock struct {
	managed.TaskLock
	// Frame is the index of the locking frame, TakenAt the place.
	Frame   int
	TakenAt string
}
