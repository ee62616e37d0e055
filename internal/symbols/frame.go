// SPDX-License-Identifier: Apache-2.0

package symbols

import "prywalk/internal/named"

// Frame is a function that an address belongs to. Its System is the same as Name where nothing was mangled.
type Frame = named.Frame

// LineSource is a table that knows functions, inlined calls and lines itself, as
// Go's does.
type LineSource interface {
	// Lines appends what is at pc, an address of the file's own inside of the
	// instruction, innermost inlined call first; nothing if pc is in none of
	// its functions.
	Lines(pc uint64, out []Frame) []Frame
}
