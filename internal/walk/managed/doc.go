// SPDX-License-Identifier: Apache-2.0

// Package managed is the interface to runtimes, each a folder of internal/walk/runtimes.
//
// # Algorithm
//
//	mappings were read   Detector ─► Runtime ─► Attach: rules for the code that it has made
//	a thread is stopped  the tracer carries out Plan and TaskOffsets: data, no calls
//	the copy is walked   Begin ─► ManagedFrames, for each native frame ─► End, then Symbolize, for each new Ref
//
// # Ownership
//
// A module of generated code begins without an owner. After each reading of the mappings the runtimes are attached in
// the order of runtimes.Registered. Each does one of two things with [Unowned] modules:
//
//   - It becomes the Owner ([frames.Module]) and sets the sources, and NoFP where its code has no frame pointer. The
//     first owner stays. HotSpot owns its code cache, and all generated code while it does not know the cache's bounds.
//   - It adds rules for functions known by address ([AddSource]); the module keeps no owner: V8.
//
// A runtime may also own a file's module, to correct its call frame information. When [Runtime.Attach] reports that
// the runtime is gone, its modules get their first sources again, and all other runtimes are attached again.
//
// # To add a runtime
//
//  1. Detect: a folder internal/walk/runtimes/NAME with a [Detector], registered in runtimes.Registered; its language
//     in languages.All.
//  2. Rules, if its code has no call frame information: [Runtime.Attach]. [Base] has the other methods.
//  3. Frames: a [FrameSource]. Its Refs come from the copy, or, while the thread has not run since, from the process
//     ([View]); a [Plan] copies memory outside of the stack, a [Scheduler] goroutines' stacks.
//  4. Names: Symbolize checks the identity before and after reading. Threads, locks, tasks: [ThreadNamer], [Threads].
//     Labels of requests: [ContextSource].
//  5. Tests: a program that knows its own chain, through a dump, a core and a recording (flow_test.go of package
//     runtimes); a fuzz test of each reader of memory. For users: docs/languages.md.
//
// # Invariants
//
// Frames are symbolized during the walk, before the memory with their names is reused. Times are of CLOCK_MONOTONIC, in
// nanoseconds; an unknown time, as in a core, is 0. Thread IDs are of the process's pid namespace. Addresses are
// run-time addresses, except in [FileTable] and [Builtins].
package managed
