// SPDX-License-Identifier: Apache-2.0

// Package cpython names the frames of Python code: CPython 3.8 to 3.15, behind the seam [prywalk/internal/managed].
//
// A Python call is not a function of a file. The interpreter keeps a chain of its own frames for each thread, the
// innermost first, which its thread state leads to. A plan has what lies outside of the native stack copied in the
// same stop as that stack. The thread state, the data stack, frames in generators, and the heads of code objects
// that are not known.
//
// The chain is merged with the native frames by address. From 3.11 on each entry from C into the interpreter keeps a
// record in the native frame of its loop. In 3.11 it is a _PyCFrame, later a frame that is owned by the C stack. The
// native frame in whose memory the record lies runs the Python frames inside of it. Before 3.11 each Python frame has a
// native frame of the loop, which keeps the frame object's address. What fits nowhere makes the walk's Python frames
// invalid as a whole.
//
// A code object can be freed, and another one made at its address, before its name is read. So a name is given for a
// proof only. The thread sleeps and has not run since. Or the object's identity was copied in the stop and is the same
// now. Or it was known before the stop, and is the same after it. Else the frame says [freed].
package cpython
