// SPDX-License-Identifier: Apache-2.0

package namehints

import (
	"path"
	"strings"
)

// Bracketed is the name displayed for all unnamed functions of a module, a path or a name in brackets.
func Bracketed(module string) string {
	switch {
	case module == "":
		return "[unknown]"
	case strings.HasPrefix(module, "["):
		return module
	}
	return "[" + path.Base(module) + "]"
}

// MadeAtRunTime reports whether a module is code in no file: in anonymous memory, or in a memfd, as of Erlang and
// .NET.
func MadeAtRunTime(module string) bool {
	return module == "[anon]" || strings.HasPrefix(module, "[memfd:")
}
