// SPDX-License-Identifier: Apache-2.0

package managed

import "fmt"

// Release is a language's release: 100·major + minor, 304 is 3.4.
type Release int

// ReleaseOf returns the release of a major and a minor number below 100.
func ReleaseOf(major, minor int) Release { return Release(100*major + minor) }

// String returns "3.4".
func (r Release) String() string { return fmt.Sprintf("%d.%d", int(r)/100, int(r)%100) }
