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
// the runtimes are attached in the order of runtimes.Kinds. Each does one of two things with modules that are still
// [Unowned]:
//
//   - It becomes the Owner of a module ([frames.Module]) and sets the sources, and NoFP where its code has no frame
//     pointer. The first owner stays, also at later readings: HotSpot owns its code cache, and all generated code while
//     it does not know the cache's bounds; PHP and Ruby precede those of package fixedframe.
//   - It adds a source with rules for functions known by address ([AddSource]), and the module has no owner: V8, GDB's
//     JIT interface. Such sources are in a module together, and no runtime removes another's.
//
// A runtime may own a file's module, whose call frame information it corrects. If [Runtime.Attach] reports that the
// runtime is gone, its modules get their first sources, and all others are attached again.
//
// # To add a runtime
//
//  1. Detect: a folder internal/runtimes/NAME with a [Detector]. It returns nil for a process that is not of its kind,
//     [ErrNotYet] while the runtime starts, or an error with a remedy. Register it in runtimes.Kinds; the fields of
//     runtimes.Kind are what else a runtime can register. Add its language to languages.All, with the hints that
//     package unnamedcode uses.
//  2. Rules, if its code has no call frame information: [Runtime.Attach] gives the modules their sources. [Base] has
//     the other methods. For code in ELF files: filecode.go.
//  3. Frames: a [FrameSource]. ManagedFrames returns identities ([Ref]) from the copied memory only; what lies outside
//     of the stack is copied by a [Plan], goroutines' stacks by a [Scheduler].
//  4. Names: Symbolize reads function, file and line, and checks the identity before and after. Names of threads, locks
//     and tasks: [Threads]. A new kind of wait goes into waits.Kind.
//  5. Tests: a program that knows its own chain, through a dump, a core and a recording (flow_test.go of package
//     runtimes); a fuzz test of each reader of memory. For users: docs/languages.md.
//
// # Invariants
//
// Frames are symbolized during the walk, before the memory with their names is reused; which object a frame leads to is
// proven by its identity ([Prove]). Times are CLOCK_MONOTONIC in ns; 0: unknown, as in a core. Thread IDs are of the
// process's pid namespace. Addresses are run-time addresses, except in [FileTable] and [Builtins].
package managed
