// SPDX-License-Identifier: Apache-2.0

// Package v8 names the frames of JavaScript, V8 9.4 to 14.6 (Node 16 to 26), for prywalk/internal/managed.
//
// # Algorithm
//
// Each frame of V8's code keeps the frame pointer, and its function below it:
//
//	fp +  8   return address
//	fp +  0   caller's fp
//	fp −  8   context, or a marker of the frame's type
//	fp − 16   JSFunction                    all functions
//	fp − 32   BytecodeArray                 interpreter, baseline code
//	fp − 40   offset in the bytecodes       interpreter
//
// Rules come from the instructions (package heuristics, v8.go) and, for functions that were deoptimized, from rules.go.
// Which code an address is in does not follow from its function: the header before the instructions is searched
// downwards (code.go). Position and inlined calls follow from its tables (positions.go), name and line from the script
// (functions.go, scripts.go). Offsets are those of V8's symbols for debuggers, completed by a table of releases
// (layout.go).
//
// # Invariants
//
// Objects move, and are read after the copy. A name is given only if the thread has not run since, or the numbers of
// script and function, or of the compilation, are the same before and after; otherwise the frame is [moved].
//
// Sources: src/execution/frame-constants.h, src/objects/*.tq, src/codegen/source-position-table.cc,
// tools/gen-postmortem-metadata.py of V8.
package v8
