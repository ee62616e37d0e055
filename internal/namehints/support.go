// SPDX-License-Identifier: Apache-2.0

package namehints

import "regexp"

// supportModule matches the files whose functions no program's author has written: those of C, C++, the threads and
// the loader.
var supportModule = regexp.MustCompile(
	`^(lib(c|m|pthread|dl|rt|stdc\+\+|gcc_s|c\+\+|c\+\+abi|musl-[^.]+)[-.]|ld[-.]|ld-|\[vdso\]$)`)

// supportName matches the functions of languages and their run-time systems, wherever they were linked to.
var supportName = regexp.MustCompile(`^(std::|__|_start$|start_thread$|clone3?$|boost::|void std::|bool std::|` +
	`runtime[./]|sync[./]|internal/|syscall\.|time\.Sleep|core::|alloc::|<?std::sys|java\.|jdk\.|sun\.|` +
	`pthread_|futex_|lll_|uv_)`)

// Support reports whether a function that has a name is of the language or the system, and not of the program.
func Support(name, module string) bool {
	return supportModule.MatchString(module) || supportName.MatchString(name)
}
