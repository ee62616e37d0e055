// SPDX-License-Identifier: Apache-2.0

// Package managed is the interface to runtimes, each a folder of internal/runtimes.
//
// # Algorithm
//
//	mappings were read   Detector ─► Runtime ─► Attach: rules for the code that it has made
//	a thread is stopped  the tracer carries out Plan and Tasks: data, no calls
//	the copy is walked   Begin ─► ManagedFrames, for each native frame ─► End, then Symbolize, for each new Ref
//
// A [Runtime] may also be a [FrameSource] with managed frames, [Threads] with names, locks, and tasks without stacks
// (asyncio's), a [Scheduler] of tasks with stacks (goroutines), or a [CodeHistory]. A [FileTable] or [Builtins] is a
// part of an ELF file, and needs no process.
//
// # Ownership
//
// A module of generated code begins without an owner, analysed by its instructions. After each reading of the mappings
// the runtimes are attached in the order of runtimes.List. Each does one of two things with modules that are still
// [Unowned]:
//
//   - It becomes the Owner of a module ([frames.Module]) and sets the sources, and NoFP where its code has no frame
//     pointer. The first owner stays, also at later readings: HotSpot owns its code cache, and all generated code while
//     it does not know the cache's bounds; PHP and Ruby precede the runtimes of package hosted.
//   - It adds a source with rules for functions known by address ([AddSource]), and the module has no owner: V8, GDB's
//     JIT interface. Such sources are in a module together, and no runtime removes another's.
//
// A runtime may own a file's module, whose call frame information it corrects. If [Runtime.Attach] reports that the
// runtime is gone, its modules get their first sources, and all others are attached again.
//
// # Invariants
//
// Frames are symbolized during the walk, before the memory with their names is reused. Times are CLOCK_MONOTONIC in ns;
// 0: unknown, as in a core. Thread IDs are of the process's pid namespace. Addresses are run-time addresses, except in
// [FileTable] and [Builtins].
package managed
