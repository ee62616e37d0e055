// SPDX-License-Identifier: Apache-2.0

// Package ruby names the frames of CRuby 2.7, 3.0 to 3.4 and 4.0 on x86-64, for [prywalk/internal/walk/managed].
//
// # The path of one frame
//
//	program       detect.go     version, layout.go; vm.go: the virtual machine, if its symbol is hidden
//	thread        threads.go    rb_thread_t of a thread ID or pthread_t
//	copy          runtime.go    the plan of what a stop copies
//	frames        walk.go       control frames, and runs of them; tags.go: native frames of rb_vm_exec
//	  native      merge.go      which run belongs to a native frame; compiled.go: YJIT's code
//	  object      objects.go    iseq or method entry, proven by its identity (heap.go)
//	name          labels.go     method, block, class; iseq.go: file and line
//	lock          gvl.go        who has it, who waits
//	wait          waits.go      mutexes with their owner, joins, queues, sleeps
//	fibers        fibers.go     those that no thread runs; fiberpool.go: their stacks
//
// rb_thread_t → execution context (ec) of the running fiber → VM stack (vm_core.h):
//
//	vm_stack                                                  vm_stack + vm_stack_size
//	| values, environments → ...      ... ← control frames |
//	                        sp         cfp: the innermost
//
//	control frame                 environment, before and at ep
//	+ 0   program counter         −16  method entry, or the block's
//	+ 8   sp                       −8  environment around it, with two flags
//	+16   iseq                     +0  flags: kind of frame, FINISH
//	+32   ep
//
// A frame with iseq but without program counter is a block in C, omitted in backtraces.
//
// # Merging
//
// A control frame with the flag FINISH was entered from C: a native frame of rb_vm_exec runs it and its callees up to
// the next one. It contains a struct rb_vm_tag; tags are linked, and the saved program counter identifies their
// function. FINISH frames and rb_vm_exec's tags are paired from the outermost on; at the start or end of a call the
// innermost lacks a partner.
//
// Without a symbol, rb_vm_exec's saved program counter is the one as frequent as FINISH frames in all threads; of
// several, the nearest to the code of Ruby's instructions (direct threaded code: iseqs contain its addresses).
//
// # Invariants
//
// Iseqs and method entries are freed, moved and reused. A frame is named by one of these proofs, else it is [freed]:
//
//   - The thread has not run since the copy, and its frame still leads to the object.
//   - The identity was copied in the stop and is unchanged.
//   - The object was known before the stop and is unchanged.
//
// # To add a release
//
// A row of layouts (layout.go; sources: scripts/setup-rubies.sh), and the first sentence here. Releases
// (layout.release) also differ in
//
//	compiled.go   names of YJIT's mapping
//	fiberpool.go  nextAllocation
//	gvl.go        sleepsInPpoll, lockOf
//	heap.go       oldMask
//	labels.go     labels with classes (layout.qualified)
//	waits.go      joiners, receivers, dataTypeFrom4
//
// # Limits
//
// A ractor's thread of the M:N scheduler has no frames of the native threads on which it ran before. Code that is
// freed within milliseconds, as of eval, is mostly [freed]. Of calls by rb_funcall from C to C both methods are
// callers of the native functions of both. In the first stop callers beyond about 60 calls can be [freed]. Lines in
// YJIT's code can be older ones. A running thread with more than 1,024 frames has none; nor has, for about 0.1 s, the
// next thread on the native thread of an ended one.
package ruby
