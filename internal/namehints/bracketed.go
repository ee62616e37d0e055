// SPDX-License-Identifier: Apache-2.0

package namehints

import "strings"

// Bracketed is the name displayed for all unnamed functions of a module.
func Bracketed(module string) string {
	switch {
	case module == "":
		return "[unknown]"
	case strings.HasPrefix(module, "["):
		return module
	}
	return "[" + module + "]"
}
