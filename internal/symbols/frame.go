// SPDX-License-Identifier: Apache-2.0

package symbols

import "prywalk/internal/named"

// Frame is a function at an address. System is Name if that is not mangled.
type Frame = named.Frame

// LineSource is a language's own table of functions, inlined calls and lines, such as Go's.
type LineSource interface {
	// Lines appends the calls at pc, a file address within the instruction, innermost inlined first.
	Lines(pc uint64, out []Frame) []Frame
}
