// SPDX-License-Identifier: Apache-2.0

// Package managed is the interface to run-time systems, virtual machines and language run-times whose calls are
// not all functions of a file. Each is a folder of internal/runtimes.
//
// # Algorithm
//
//	mappings were read   Detector ─► Runtime ─► Attach: rules for the code that it has made
//	a thread is stopped  the tracer carries out Plan and Tasks: data, no calls
//	the copy is walked   Begin ─► Native, for each native frame ─► End, then Symbolize, for each new Ref
//
// A [Runtime] may also be a [Namer], [Threads], or [PerModule]. [Plain] and [NoThreads] have the common answers.
// Waiting tasks without a thread are read from a [Scheduler], if they have stacks (goroutines), or from a
// [TaskLister], which gives their frames by name (asyncio's tasks). What a language has left in ELF files, a
// [FileTable] or [Builtins], needs no process.
//
// # Invariants
//
// Managed frames are symbolized during the walk, since the memory with their names may be reused later.
package managed
