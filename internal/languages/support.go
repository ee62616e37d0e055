// SPDX-License-Identifier: Apache-2.0

package languages

import "regexp"

// C and C++ libraries, the library of threads, the loader and the vDSO.
var supportModule = regexp.MustCompile(
	`^(lib(c|m|pthread|dl|rt|stdc\+\+|gcc_s|c\+\+|c\+\+abi|musl-[^.]+)[-.]|ld[-.]|\[vdso\]$)`)

// in any file
var supportName = regexp.MustCompile(`^(std::|__|_start$|start_thread$|clone3?$|boost::|void std::|bool std::|` +
	`runtime[./]|sync[./]|internal/|syscall\.|time\.Sleep|core::|alloc::|<?std::sys|java\.|jdk\.|sun\.|` +
	`pthread_|futex_|lll_|uv_)`)

// IsSupport reports whether a function is the language's or the system's, not the program's.
func IsSupport(name, module string) bool {
	return supportModule.MatchString(module) || supportName.MatchString(name)
}
