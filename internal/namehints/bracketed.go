// SPDX-License-Identifier: Apache-2.0

package namehints

import "strings"

// Bracketed is what is shown for the functions of a module that have no names.
func Bracketed(module string) string {
	switch {
	case module == "":
		return "[unknown]"
	case strings.HasPrefix(module, "["):
		return module
	}
	return "[" + module + "]"
}
