// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"prywalk/internal/base/languages"
)

// IsLibrary reports whether a function is of the language's or the system's libraries, not the program's. Installed
// packages of a language are the program's.
func IsLibrary(f Frame) bool {
	if l := f.language(); l != nil && l.Library != nil {
		return l.Library(f.Function, f.File)
	}
	file := path.Base(f.Module)
	return systemFiles.MatchString(file) || libs.Library.MatchString(f.Function) ||
		languages.Matches(file, func(l *languages.Language) *regexp.Regexp { return l.LibraryFiles }) ||
		languages.Matches(f.Function, func(l *languages.Language) *regexp.Regexp { return l.LibraryFunctions })
}

func isApplicationFunction(f Frame) bool {
	return f.Function != "" && !strings.HasPrefix(f.Function, "[") && !IsLibrary(f)
}

// WaitingFunction returns the index of the function that represents a wait: the application's innermost, else the
// innermost that does more than forward it, else the outermost that forwards it.
func WaitingFunction(stack []Frame) int {
	if i := ApplicationFunction(stack); i >= 0 {
		return i
	}
	s := splitStack(stack)
	var waiter Frame
	switch {
	case len(s.outer) > 0:
		waiter = s.outer[0]
	case len(s.inner) > 0: // all only forward it
		waiter = s.inner[len(s.inner)-1]
	default:
		return 0
	}
	return max(0, slices.IndexFunc(stack, func(f Frame) bool {
		return f.Function == waiter.Function && f.File == waiter.File && path.Base(f.Module) == waiter.Module
	}))
}

// ApplicationFunction returns the index of the application's innermost function, −1 for none.
func ApplicationFunction(stack []Frame) int { return slices.IndexFunc(stack, isApplicationFunction) }
