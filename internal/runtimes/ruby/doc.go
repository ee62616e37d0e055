// SPDX-License-Identifier: Apache-2.0

// Package ruby names the frames of CRuby 2.7 to 4.0 on x86-64, for [prywalk/internal/managed].
//
// # Frames
//
// rb_thread_t → execution context (ec) of the running fiber → VM stack (vm_core.h):
//
//	vm_stack                                                  vm_stack + vm_stack_size
//	| values, environments → ...      ... ← control frames |
//	                        sp         cfp: the innermost
//
// A control frame has program counter, instruction sequence (iseq), and environment: its last word are the flags,
// the last but two is the method entry. A frame with iseq and without program counter is of a block in C, omitted in
// backtraces.
//
// # Merging
//
// A frame with the flag FINISH was entered from C: a native frame of rb_vm_exec runs it, and its callees up to the
// next one. rb_vm_exec keeps a struct rb_vm_tag in its frame. Tags are linked; their saved program counter
// identifies the function. FINISH frames and rb_vm_exec's tags are paired from the outermost on; at a call's start or
// end the innermost lacks a partner.
//
// Without a symbol, rb_vm_exec's saved program counter is the one as frequent as FINISH frames in all threads; of
// several the nearest to the code of Ruby's instructions, whose addresses iseqs contain (direct threaded code).
//
// # Invariants
//
// Iseqs and method entries are freed, moved and reused. A name has a proof: the thread has slept since, and its
// frame still leads there; or the identity was copied in the stop and is unchanged; or the thread had the interpreter
// lock, and all of the name was copied; or an old object was known before the stop and is unchanged. Otherwise the
// frame is [freed].
package ruby
