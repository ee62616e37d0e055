// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"path"
	"regexp"
	"strings"

	"prywalk/internal/languages"
)

// libraryFiles match files without application functions: the C library and run-time systems.
var libraryFiles = regexp.MustCompile(`^(libc\.so|libc-|libpthread|libm\.so|libm-|libdl|ld-|libstdc\+\+|` +
	`libc\+\+|libgcc_s|\[vdso\]|\[kernel\])|musl`)

// libraryFunctions match functions of standard libraries (C++, Rust), and thread starts.
var libraryFunctions = regexp.MustCompile(`^(std::|__gnu_cxx::|<?(std|core|alloc)::|<.* as (std|` +
	`core|alloc)::|__rust|parking_lot|_start$|_*clone3?$|start_thread$|g_cond_|g_main_)`)

// isApplication reports whether a function is the application's.
func isApplication(f *Frame) bool {
	if f.Function == "" || strings.HasPrefix(f.Function, "[") {
		return false
	}
	if l := f.language(); l != nil && l.Library != nil {
		return !l.Library(f.Function, f.File)
	}
	return !libraryFiles.MatchString(path.Base(f.Module)) && !libraryFunctions.MatchString(f.Function) &&
		!languages.Matches(path.Base(f.Module), func(l *languages.Language) *regexp.Regexp { return l.LibraryFiles }) &&
		!languages.Matches(f.Function, func(l *languages.Language) *regexp.Regexp { return l.LibraryFunctions })
}

// Waiter gives the index of the function that represents a stack's wait: the application's innermost, else the
// innermost that does not merely forward it.
func Waiter(stack func(i int) (Frame, bool)) int {
	if i := Application(stack); i >= 0 {
		return i
	}
	s := sortOut(stack)
	for i := 0; len(s.rest) > 0; i++ {
		f, ok := stack(i)
		if !ok {
			break
		}
		if f.Function == s.rest[0].Function && f.File == s.rest[0].File && path.Base(f.Module) == s.rest[0].Module {
			return i
		}
	}
	return 0
}

// Application gives the index of the application's innermost function; −1 if there is none.
func Application(stack func(i int) (Frame, bool)) int {
	for i := 0; ; i++ {
		f, ok := stack(i)
		if !ok {
			return -1
		}
		if isApplication(&f) {
			return i
		}
	}
}
