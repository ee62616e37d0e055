package symbols

// Frame is a function that an address belongs to: one that has the code, or one
// that the compiler inlined there.
type Frame struct {
	// Name is the function's name for people (see the package comment); it
	// is never empty.
	Name string
	// System is the linkage name, without a version; the same as Name where
	// nothing was mangled.
	System string
	// File is the source file's path as the compiler recorded it, empty if
	// unknown. It is not a path on this machine.
	File string
	// Line is the line in File of the address, or of the inlined call; 0 if
	// unknown.
	Line int
	// StartLine is the line that the function's definition begins at, 0 if
	// unknown.
	StartLine int
	// Inlined: the Frame after this one is the function that this call was
	// inlined into.
	Inlined bool
}

// LineSource is a table that knows functions, inlined calls and lines itself, as
// Go's does.
type LineSource interface {
	// Lines appends what is at pc, an address of the file's own inside of the
	// instruction, innermost inlined call first; nothing if pc is in none of
	// its functions.
	Lines(pc uint64, out []Frame) []Frame
}
