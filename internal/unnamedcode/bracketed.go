// SPDX-License-Identifier: Apache-2.0

package unnamedcode

import (
	"path"
	"strings"
)

// Bracketed names all unnamed functions of a module, a path or a name in brackets.
func Bracketed(module string) string {
	switch {
	case module == "":
		return "[unknown]"
	case strings.HasPrefix(module, "["):
		return module
	}
	return "[" + path.Base(module) + "]"
}

// MadeAtRunTime reports whether a module's code is in anonymous memory, which may have a name (V8, YJIT; Linux,
// Documentation/filesystems/proc.rst), or in a memfd (Erlang, .NET).
func MadeAtRunTime(module string) bool {
	return module == "[anon]" || strings.HasPrefix(module, "[anon:") || strings.HasPrefix(module, "[anon_shmem:") ||
		strings.HasPrefix(module, "[memfd:")
}
