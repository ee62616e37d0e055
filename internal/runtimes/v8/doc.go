// SPDX-License-Identifier: Apache-2.0

// Package v8 names the frames of JavaScript, V8 9.4 to 14.6 (Node 16 to 26), for prywalk/internal/managed.
//
// # Algorithm
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
// Rules come from the instructions (package heuristics, v8.go) and, where functions were deoptimized, from rules.go.
// The code at an address does not follow from the frame's function: its header is searched downwards (code.go). The
// code's tables give position and inlined calls (positions.go); the script gives name and line (functions.go,
// scripts.go). Offsets are those of V8's symbols for debuggers, completed by a table of releases (layout.go).
//
// # Invariants
//
// Objects move, and are read after the copy. A name is given only if the thread has not run since, or the numbers of
// script and function, or of the compilation, are the same before and after. Otherwise the frame is named [moved].
//
// Sources: src/execution/frame-constants.h, src/objects/*.tq, src/codegen/source-position-table.cc,
// tools/gen-postmortem-metadata.py of V8.
package v8
