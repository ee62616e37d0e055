// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"fmt"
	"strings"

	"prywalk/internal/base/languages"
)

// Release is a language's release: 100·major + minor, 304 is 3.4.
type Release int

// ReleaseOf returns the release of a major and a minor number below 100.
func ReleaseOf(major, minor int) Release { return Release(100*major + minor) }

// String returns "3.4".
func (r Release) String() string { return fmt.Sprintf("%d.%d", int(r)/100, int(r)%100) }

// Kind returns the kind of frames of a [Runtime.Name]: "cpython" for "CPython 3.12.1".
func Kind(name string) string {
	if l := languages.OfSystem(name); l != nil && l.Kind != "" {
		return l.Kind
	}
	word, _, _ := strings.Cut(name, " ")
	return strings.ToLower(word)
}
