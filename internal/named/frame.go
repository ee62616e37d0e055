// SPDX-License-Identifier: Apache-2.0

// Package named defines a function at an address: name, file, line and inlined calls, as symbol tables give it and a
// recording stores it.
package named

// Frame is one function that an address belongs to; several when calls are inlined there. Then the innermost comes
// first.
type Frame struct {
	// Name is the function's name for people, demangled; it is never empty.
	Name string
	// System is the linkage name, without a version. In a recording it may be empty if it is the same as Name.
	System string
	// File is the source file's path as the compiler recorded it, empty if unknown. It is not a path on this machine.
	File string
	// Line is the line in File of the address, or of the inlined call; 0 if unknown.
	Line int
	// StartLine is the line that the function's definition begins at, 0 if unknown. Go's profile-guided optimisation
	// needs it.
	StartLine int
	// Inlined: the next Frame is the function that this call was inlined into.
	Inlined bool
}
