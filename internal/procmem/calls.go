// SPDX-License-Identifier: Apache-2.0

package procmem

import "sync/atomic"

var calls atomic.Int64

// CountCall adds one to [Calls].
//
//go:nosplit
func CountCall() { calls.Add(1) }

// Calls gives the system calls of this package and package ptrace, a cost that does not depend on load.
//
//go:nosplit
func Calls() int64 { return calls.Load() }

var waits atomic.Int64

// CountWait adds one to [Waits].
//
//go:nosplit
func CountWait() { waits.Add(1) }

// Waits gives the [Calls] that only waited, which depend on load.
func Waits() int64 { return waits.Load() }

var copied atomic.Int64

// CountCopied adds n bytes to [Copied].
//
//go:nosplit
func CountCopied(n int) { copied.Add(int64(n)) }

// Copied gives the bytes read with process_vm_readv.
func Copied() int64 { return copied.Load() }
