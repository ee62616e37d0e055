// SPDX-License-Identifier: Apache-2.0

// Package cpython names the frames of Python code, CPython 3.8 to 3.15, for [prywalk/internal/walk/managed].
//
// # Algorithm
//
// The interpreter keeps a chain of frames per thread, innermost first, from the thread state on (plan.go).
//
// Frames are merged by address. From 3.11 on each entry from C keeps a record (_PyCFrame in 3.11, later a frame owned
// by the C stack) in the native frame of the loop, which runs the Python frames up to it. Before, each Python frame has
// a native frame of the loop, which stores its address.
//
// # Invariants
//
// A frame that fits nowhere invalidates all Python frames of the walk; in 3.11 and 3.12 so does a stop in some
// instructions of a call from C into Python.
//
// A code object's address can be reused before its name is read. [managed.Prove] proves names; a frame without proof is
// [freed]. Before 3.12 the proof fails for evaluated code: a known function and a later one of the same name and first
// line are not told apart if the later one's code object, name, file and line table (3.11: and qualified name) are at
// the addresses of the known one's. The later one then has the lines of the first, in 3.11 also its qualified name.
//
// # To add a release
//
// From 3.13 on the process has a table of offsets, _Py_DebugOffsets (Include/internal/pycore_debug_offsets.h), whose
// form is a row of debugTables (layout.go; maxDebug is the largest size). Offsets that it lacks are numbers in
// layoutOfDebugOffsets (pycore_code.h, pycore_interpframe_structs.h), coroutines.go, gil.go, holds.go, objects.go and
// tasks.go. Releases (layout.minor) also differ in
//
//	codes.go        flags in an object's reference count
//	coroutines.go   states of a coroutine, and where the object is that it awaits
//	detect.go       releases before 3.11, by members of code objects; the free-threaded build
//	greenlets.go    frames that the C stack owns: from 3.12 on
//	holds.go        form of a lock; locks of frames: from 3.11 on
//	joins.go        where the end of a thread is awaited; where a thread is parked: from 3.13 on
//	layout.go       frame objects: until 3.10; free-threaded builds: copies of bytecode, flags of strings, from 3.14 on
//	lines.go        form of the line table
//	merge.go        calls from C, whose record is written late: 3.12
//	objects.go      dicts, and attributes within objects
//	tasks.go        asyncio's own table of offsets (from 3.14 on), names of tasks
//	tracked.go      generations of the collector: in 3.8 in _PyRuntime
//	walk.go         frames that the C stack owns, unit of offsets in bytecode
//
// testdata/debugoffsets-3.N is the _Py_DebugOffsets of Debian's python3.N, SIZE bytes as in its row:
//
//	objcopy -O binary --only-section=.PyRuntime python3.N debugoffsets-3.N
//	truncate --size=SIZE debugoffsets-3.N
//
// The one of 3.14t is _Py_DebugOffsets_INIT of Debian's libpython3.14-dev, compiled with -DPy_GIL_DISABLED.
package cpython
