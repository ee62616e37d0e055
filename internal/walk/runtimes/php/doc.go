// SPDX-License-Identifier: Apache-2.0

// Package php names the frames of PHP 7.4 to 8.5, for [prywalk/internal/walk/managed].
//
// # The path of one frame
//
//	program       detect.go       version, layout.go, executor globals; execute_ex.cold
//	thread        managed         thread pointer (threadpointers.go), in thread-safe builds (threadlocal.go)
//	copy          runtime.go      the plan of what a stop copies
//	calls         walk.go         execute data, and runs of them; generators, fibers; fibers.go: those that wait
//	  native      merge.go        which run belongs to a native frame; jit.go: compiled code
//	  function    functions.go    proven by its identity; name, file, lines
//
// The engine keeps its calls as records (execute data) on a stack of its own, linked from the innermost:
//
//	executor globals        execute data          function                zend_op
//	+current ─────────────► 0  opline ──────┐  ┌► 0  type, 4 flags   ┌──► 0
//	                        24 func ────────┼──┘  8  name            │    24 lineno
//	                        32 This, 40 info│     16 scope           │    32 the next one
//	                        48 prev ──►     └──┐  +opcodes ──────────┘
//	                                           └──────────────────►  (one of them)
//
// # Merging
//
// A native frame of execute_ex, or of JIT code in its frame, runs the user calls up to the one entered from C
// (ZEND_CALL_TOP): a run. Register r14 (x27 on arm64; ZEND_VM_FP_GLOBAL_REG, Zend/zend_execute.c) has the innermost
// record's address and is preserved across calls: it is in the registers, or saved on the stack further in. A
// contradiction invalidates the walk's PHP frames. A fiber has its own C stack; the runs that resumed it follow its
// last frame.
//
// # Names
//
// Closures are freed at any time, other functions outside of opcache's memory at the end of a request. A function is
// named if the thread has not run since the copy, or if the copied identity, with the hashes that the engine keeps in
// its texts, is still in memory; else it is [freed].
//
// A line can be wrong where the opcodes, which are read after the copy, are freed and reused, within the function's
// lines, while function and texts are intact.
//
// In code of the JIT compiler a line can be some opcodes too early. A waiting script in FrankenPHP has its calls at its
// thread, not at the goroutine. Of a running thread 1,024 calls are copied: the native frame that runs the last one,
// and those outward of it, have no names. A stack of more than 32,768 calls has none.
//
// # To add a release
//
// newestRelease, and a row of layouts if offsets differ (layout.go; sources: scripts/setup-phps.sh); the first sentence
// here. Other ways of the JIT compiler to use execute_ex's frame: jit.go; to make fibers' stacks: EndsStack in
// heuristics/roots.go.
//
// Sources: php-src, Zend/zend_compile.h (_zend_execute_data, _zend_op_array, _zend_op), Zend/zend_globals.h
// (_zend_executor_globals), Zend/zend_types.h (_zend_string), Zend/zend_objects_API.h (zend_objects_store),
// Zend/zend_generators.h, Zend/zend_fibers.h (_zend_fiber), Zend/zend_fibers.c, TSRM/TSRM.c.
package php
