package procmem

import "sync/atomic"

// calls counts the system calls that this package and package ptrace have made.
var calls atomic.Int64

// CountCall adds one to [Calls].
//
//go:nosplit
func CountCall() { calls.Add(1) }

// Calls gives the number of system calls that this package and package ptrace have
// made in this process: what looking costs, independent of the machine's mood.
func Calls() int64 { return calls.Load() }
