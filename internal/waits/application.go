// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"path"
	"regexp"
	"strings"
)

// libraryFiles are files whose functions are no application's: the C library, and those of run-time systems.
var libraryFiles = regexp.MustCompile(`^(libc\.so|libc-|libpthread|libm\.so|libm-|libdl|ld-|libstdc\+\+|` +
	`libc\+\+|libgcc_s|\[vdso\]|\[kernel\]|libjvm\.so|libjli\.so|libjava\.so|libnio\.so|libnet\.so|` +
	`libpython|python[\d.]*$|` +
	`libruby|ruby[\d.]*$|_\w+\.cpython-.*\.so|libnode\.so)|musl`)

// libraryFunctions are parts of the names of functions that are no application's: of the standard libraries of C++,
// Rust and Go, and of what starts threads.
var libraryFunctions = regexp.MustCompile(`^(std::|__gnu_cxx::|<?(std|core|alloc)::|<.* as (std|` +
	`core|alloc)::|__rust|` +
	`parking_lot|_start$|_*clone3?$|start_thread$|runtime[./]|sync[./]|internal/|syscall\.|time\.|` +
	`os[./]|io[./]|net[./]|` +
	`context\.|bufio\.|reflect\.|database/|crypto/|encoding/|poll\.|uv_|uv__|g_cond_|g_main_|node::|v8::)`)

// javaLibrary are the packages of Java's own library, and of languages that run on it.
var javaLibrary = regexp.MustCompile(`^(java|javax|jdk|sun|com\.sun|kotlin|kotlinx|scala|groovy|clojure)\.|` +
	`^(call_stub|StubRoutines)|Lambda(\$\d+)?(/0x\w+)?\.\w+$`)

// pythonLibrary are the source files of Python's own library.
var pythonLibrary = regexp.MustCompile(`/lib(64)?/python\d[\d.]*t?/|^<(frozen|__)`)

// isApplication reports whether a function is the application's: not the kernel's, a run-time system's, the standard
// library's of a language or the C library's.
func isApplication(f *Frame) bool {
	switch {
	case f.Function == "" || strings.HasPrefix(f.Function, "["):
		return false
	case strings.HasPrefix(f.Module, "[HotSpot"):
		return !javaLibrary.MatchString(f.Function)
	case strings.HasPrefix(f.Module, "[CPython"):
		return !pythonLibrary.MatchString(f.File) || strings.Contains(f.File, "-packages/")
	case strings.HasPrefix(f.Module, "[V8"), strings.HasPrefix(f.Module, "[Node"):
		return !strings.HasPrefix(f.File, "node:")
	case strings.HasPrefix(f.Module, "[Ruby"):
		return !strings.HasPrefix(f.File, "<internal:") && !strings.Contains(f.File, "/lib/ruby/3") &&
			!strings.Contains(f.File, "/lib/ruby/2")
	}
	return !libraryFiles.MatchString(path.Base(f.Module)) && !libraryFunctions.MatchString(f.Function)
}

// Waiter gives the place in a stack of the function that stands for its wait: the application's innermost. Where there
// is none, it is the innermost that does not only pass the wait on.
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

// Application gives the place in a stack of the innermost function that is the application's; −1 if there is none.
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
