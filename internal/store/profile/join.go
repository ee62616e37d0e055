// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Join returns the sum of recordings, such as the parts of [Builder.Rotate]. It lasts from the begin of the first to
// the end of the last. It fails if their clocks differ.
func Join(all []*profile.Profile) (*profile.Profile, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	sum, err := profile.Merge(all)
	if err != nil {
		return nil, fmt.Errorf("%w; give recordings with the same clocks", err)
	}
	end := int64(0)
	for _, p := range all {
		end = max(end, p.TimeNanos+p.DurationNanos)
	}
	if sum.TimeNanos != 0 {
		sum.DurationNanos = end - sum.TimeNanos
	}
	sum.Comments = slices.DeleteFunc(sum.Comments, func(c string) bool {
		return strings.HasPrefix(c, "part ") && strings.HasSuffix(c, partOf)
	})
	return sum, nil
}

const partOf = " of a recording that goes on"

// PartComment is the comment of part n, from 1, of a recording.
func PartComment(n int) string { return fmt.Sprintf("part %d%s", n, partOf) }
