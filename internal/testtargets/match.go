// SPDX-License-Identifier: Apache-2.0

package testtargets

import "strings"

// Matches reports whether want occurs in a function's name as whole words.
func Matches(name, want string) bool {
	for from := 0; ; {
		i := strings.Index(name[from:], want)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(want)
		if (start == 0 || !wordByte(name[start-1])) && (end == len(name) || !wordByte(name[end])) {
			return true
		}
		from = start + 1
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// HasChain reports whether the functions are on the stack, innermost first; others may lie between.
func HasChain(stack, chain []string) bool {
	for _, name := range stack {
		if len(chain) == 0 {
			break
		}
		if Matches(name, chain[0]) {
			chain = chain[1:]
		}
	}
	return len(chain) == 0
}
