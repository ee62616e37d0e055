// SPDX-License-Identifier: Apache-2.0

package sample

// Frame is a function at an address, as symbol tables give it and a recording stores it; inlined calls are Frames, too,
// the innermost first. Other types of frames, from the walk to the table: frames.Frame is one activation (addresses and
// method); managed.Frame a function that its runtime names; view.Frame and top.Frame entries of a table; stacks.Frame a
// frame of a dump and its JSON; waits.Frame the names by which a wait is idle.
type Frame struct {
	// Name is demangled, and never empty.
	Name string
	// System is the linkage name, without a version; in a recording "" if equal to Name.
	System string
	// File is the source file's path as compiled, or "".
	File string
	// Line is the address's in File, or the inlined call's; 0 if unknown.
	Line int
	// StartLine is the first of the function's definition, 0 if unknown (for Go's profile-guided optimisation).
	StartLine int
	// Inlined means that the next Frame is the function that this call was inlined into.
	Inlined bool
}
