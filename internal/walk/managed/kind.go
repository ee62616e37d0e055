// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"strings"

	"prywalk/internal/base/languages"
)

// Kind returns the kind of frames of a [Runtime.Name]: "cpython" for "CPython 3.12.1".
func Kind(name string) string {
	if l := languages.OfSystem(name); l != nil && l.Kind != "" {
		return l.Kind
	}
	word, _, _ := strings.Cut(name, " ")
	return strings.ToLower(word)
}
