// SPDX-License-Identifier: Apache-2.0

package unnamedcode

import (
	"path"
	"strings"

	"prywalk/internal/base/languages"
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

// IsPlaceholder reports a name that stands for a function without a proven one, whatever its module. Other names in
// brackets are functions', as Ruby's [] and those of JavaScript's symbols.
func IsPlaceholder(name string) bool {
	return name == languages.FreedFunction || name == languages.MovedFunction || name == Bracketed("") ||
		MadeAtRunTime(name)
}

// MadeAtRunTime reports whether a module's code is in anonymous memory, which may have a name (V8, YJIT; Linux,
// Documentation/filesystems/proc.rst), or in a memfd (Erlang, .NET).
func MadeAtRunTime(module string) bool {
	return module == "[anon]" || strings.HasPrefix(module, "[anon:") || strings.HasPrefix(module, "[anon_shmem:") ||
		strings.HasPrefix(module, "[memfd:")
}
