// SPDX-License-Identifier: Apache-2.0

// Package cpython names the frames of Python code, CPython 3.8 to 3.15, for [prywalk/internal/managed].
//
// # Algorithm
//
// The interpreter keeps a chain of its own frames for each thread, innermost first, reachable from the thread
// state. A plan copies what lies outside of the native stack in the same stop: the thread state, the data stack,
// frames in generators, and heads of unknown code objects.
//
// The chain is merged with the native frames by address. From 3.11 on each entry from C keeps a record in the
// native frame of the loop (_PyCFrame in 3.11, later a frame owned by the C stack); that native frame runs the
// Python frames inside of it. Before 3.11 each Python frame has a native frame of the loop, which stores the frame
// object's address.
//
// # Invariants
//
// A frame that fits nowhere invalidates all Python frames of the walk.
//
// A code object can be freed and its address reused before its name is read. A name therefore needs a proof: the
// thread has slept since; or the identity was copied in the stop and is unchanged; or it was known before the stop
// and is unchanged after it. Otherwise the frame is [freed].
package cpython
