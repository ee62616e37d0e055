// SPDX-License-Identifier: Apache-2.0

// Package managed is the interface to runtimes, whose functions are not all in files. Each is a folder of
// internal/runtimes.
//
// # Algorithm
//
//	mappings were read   Detector ─► Runtime ─► Attach: rules for the code that it has made
//	a thread is stopped  the tracer carries out Plan and Tasks: data, no calls
//	the copy is walked   Begin ─► Native, for each native frame ─► End, then Symbolize, for each new Ref
//
// A [Runtime] may also be a [Namer], [Threads], or [PerModule]. Waiting tasks are read from a [Scheduler] if they have
// stacks (goroutines), else from a [TaskLister] (asyncio's tasks). A [FileTable] or [Builtins] is what a compiler left
// in an ELF file, and needs no process.
//
// # Invariants
//
// Frames are symbolized during the walk, since the memory with their names may be reused later. Times are
// CLOCK_MONOTONIC in ns; 0: unknown, as in a core. Thread IDs are of the process's own pid namespace. Addresses are
// run-time addresses, except in [FileTable] and [Builtins].
package managed
