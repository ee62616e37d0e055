// SPDX-License-Identifier: Apache-2.0

// Package v8 names the frames of JavaScript, V8 9.4 to 14.6 (Node 16 to 26).
//
// # The path of one frame
//
//	program       layout.go     offsets: V8's symbols for debuggers, completed by a table of releases
//	unwind        embedded.go   builtins in the file, and deoptimized code; else package heuristics
//	which kind    runtime.go    ManagedFrames: a frame of the interpreter, of baseline, optimized or other code
//	  its code    code.go       by a header before the instructions; codeplaces.go: whether code moves
//	  function    functions.go  by the frame's bytecodes, the code, or the closure
//	name          scripts.go    source file, lines
//	  position    positions.go  of bytecode or instruction, and inlined calls
//	  objects     objects.go    words, strings, arrays
//
// Without a thread: pending awaits (awaits.go, promises.go, awaitchains.go), found in the pages of the heap
// (heappages.go).
//
// A frame of V8's code keeps the frame pointer, and below it (src/execution/frame-constants.h):
//
//	fp +  8   return address
//	fp +  0   caller's fp
//	fp −  8   context (an object); without a function: the frame's type (a small integer)
//	fp − 16   JSFunction
//	fp − 24   number of arguments
//	fp − 32   interpreter, baseline code: BytecodeArray
//	fp − 40   interpreter: offset in it (a small integer); baseline code: feedback
//
// The code at an address does not follow from the frame's function: it can have been replaced since the call.
//
// # Invariants
//
// Objects move, and are read after the copy. A name is given only if the thread has not run since, or the numbers of
// script and function, or of the compilation, are the same before and after. Otherwise the frame is named [moved], or
// [freed] if its code was replaced between walk and naming.
// Two cases remain, after a full collection within 0.1 s: a new function and closure at the addresses of old ones; and
// a new compilation at the address of an old one of the same function, whose inlined calls and line are shown.
//
// # To add a release
//
// newest and newestNode; layoutOf and kindsOf where they differ (layout.go; sources: scripts/setup-nodes.sh); the first
// sentence here. Releases (version.atLeast) also differ in
//
//	embedded.go    builtins without frame pointer
//	heappages.go   headers of pages
//	functions.go   functions being debugged (before 12), slots of scopes (before 10)
//	objects.go     types of strings (before 10), lengths of arrays (from 14 on)
//	positions.go   flags in the table of positions (from 14 on)
//	promises.go    words of reactions (from 13 on)
//	runtime.go     maxType, above the types of frames
//
// Sources: src/execution/frame-constants.h, src/objects/*.tq, src/codegen/source-position-table.cc,
// tools/gen-postmortem-metadata.py of V8.
package v8
