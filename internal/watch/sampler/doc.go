// SPDX-License-Identifier: Apache-2.0

// Package sampler makes one recording of some processes: samples of all their threads, and the time in between.
//
// # Algorithm
//
//	discovery ──(found)──► aggregator: opens the process ──► tracer: samples its threads
//	tracer ──(events, package target)──► aggregator: walks stacks, attributes time ──► profile.Builder
//
// [Sampler.Run] starts three goroutines, waits for them, and detects hangs meanwhile (hangs.go):
//
//   - The tracer (package tracer) samples threads at each tick, and copies what the walks need.
//   - The aggregator (package aggregator) walks the copies, and attributes the threads' clocks to stacks.
//   - The discovery (discovery.go) searches for new processes, children or those that a rule selects.
//
// # Ownership
//
// The tracer's OS thread owns observe.Observer, ptrace.Controller, and its fields of processes and threads (package
// target); others read the atomics of these. The aggregator owns modules, rules and runtimes (loadedcode.Process; the
// tracer uses its PID, StartTime, Alive and Memory), and writes the copy hints, in three buffers in turn. An event
// belongs to one goroutine at a time.
// Memory.opening protects the files of a target's memory, Image.mu a file's symbols, Builder.mu the recording.
//
// # Objects of a process and of a thread
//
// target.Process and target.Thread are shared; one goroutine uses each other object. In the order of their making:
//
//	object                   made by                   dropped by                  at an exec
//	loadedcode.Process       caller of New, openFound  Sampler.closeTarget         Refresh reads mappings, runtimes
//	target.Process           Sampler.add               tracer's, aggregator's end  stays; the engine is chosen again
//	aggregator.processState  states.process            intervalSink.ProcessDone    states.renewProgram
//	attribute.processAccount Attribution.process       Attribution.closeProcess    stays: one account
//	target.Thread            tracked.track             with its last event         a new first one, unless that called it
//	attribute.threadAccount  Attribution.thread        Attribution.finishThread    moveAccount: caller's to first
//
// Before a child is tracked, its kernel samples are kept by the engine.
//
// # Exec
//
// An exec ends all threads but the one that has called it, gives that one the first one's number, and only then
// replaces the address space (fs/exec.c, de_thread, exec_mmap). Each side follows in one function:
//
//   - The tracer, execs.follow, finds it by the number of the address space ([procmem.Memory.Renew]), at each tick. It
//     ends the other threads, and reports Execed. Until then, exec.go of package target prevents that the caller is
//     taken for the first thread, or for ended.
//   - The aggregator, afterExec, handles Execed: the account of the caller, mappings and runtimes, first plan, other
//     memory and lack, state of waits, copy hints, and name. Modules and locations follow at the next walk.
//
// An observation whose copy is empty because of an exec opens the memory again, and repeats its stop (reopenAfterExec,
// package observe). Kept registers, the ranges of the last plan and an aborted call stay: they are compared before use.
// The thread pointer is unknown until the next stop (observe.Thread).
//
// # CPU time of prywalk
//
// In an agent, --max-overhead bounds it, too, by a lower rate of ticks (tracer.overheadBudget). If prywalk has a CPU
// quota of its own, it takes at most half of that (tracer.quota). These bound the other activities, as a part of one
// CPU or of the time, but none is put off for longer than its constants permit:
//
//	activity                                          at most  constant
//	observations of unchanged threads                 1/256    target.pollShare; > 468 threads: 1 µs each in 120 ms
//	  of those in back-off that have run              1/64     target.searchShare, for each process
//	  of those that wake often, with kernel samples   1/16     target.frequentWakerShare; > 1,562: 40 µs each in 1 s
//	lists of threads with a hint at a change          1/128    target.listShare, for each process
//	  without a hint                                  1/512    target.listShare, for all together
//	ends of these lists, for new threads              1/64     tracer.skipShare, for each process
//	clocks of processes                               1/512    target.clockShare, for each process
//	clocks of ended threads                           1/500    tracer.reportShare, for each process
//	failing busy-waits for stops, of a tick           1/8      tracer.spinShare; one of 40 µs in any case
//	checks of all pending stops                       1/16     ptrace.checkAllShare
//	mappings and generated code, and queries of these 1/20     aggregator.refreshShare, for each; once more for new code
//	waiting tasks                                     1/100    aggregator.restRatio; first read of all 1/10
//	locks that running goroutines hold                1/50     aggregator.lockShare; the first 0.1 s more
//	checkpoints                                       1/20     tracer.checkpointPart
//	refreshes of sinks                                1/200    tracer.refreshPart; more: SamplingOptions.WatchWithin
//	remote addresses of sockets                       1/200    waits.RemoteAddresses
//	joins of threads in CPython, lists of libc's      1/50     cpython.readingShare, managed.shareOfTime
//	lists of greenlets and fibers                     1/200    managed.listingShare; over 50 ms: one each 10 s
//	readings of threads in HotSpot, for owners        1/20     hotspot.restRatio
//	perf maps                                         1/20     perfmap.mapShare; until first read whole 1/4
//	searches for processes                            1/50     sampler.discoverShare; in the agent 1/200
//	control groups of targets                         1/400    recording.groupsShare
//
// # Invariants
//
// After Run the Builder has all samples; after a failure those before it; after [ErrBuilderInUse] it must not be read.
// No target is left stopped or traced, unless [ErrHung].
package sampler
