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

// copied is the memory of others that process_vm_readv has copied, in bytes.
var copied atomic.Int64

// CountCopied adds n bytes to [Copied].
//
//go:nosplit
func CountCopied(n int) { copied.Add(int64(n)) }

// Copied gives the bytes of other processes' memory that this package and package
// ptrace have copied with process_vm_readv in this process.
func Copied() int64 { return copied.Load() }
