// SPDX-License-Identifier: Apache-2.0

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
//
//go:nosplit
func Calls() int64 { return calls.Load() }

// waits counts those of the calls that only passed time.
var waits atomic.Int64

// CountWait adds one to [Waits].
//
//go:nosplit
func CountWait() { waits.Add(1) }

// Waits gives how many of [Calls] only passed time: they asked in vain whether a
// thread has stopped, or slept until it might have. They grow with how long the
// machine makes a look wait; the others do not.
func Waits() int64 { return waits.Load() }

// copied is the memory of others that process_vm_readv has copied, in bytes.
var copied atomic.Int64

// CountCopied adds n bytes to [Copied].
//
//go:nosplit
func CountCopied(n int) { copied.Add(int64(n)) }

// Copied gives the bytes of other processes' memory that this package and package
// ptrace have copied with process_vm_readv in this process.
func Copied() int64 { return copied.Load() }
