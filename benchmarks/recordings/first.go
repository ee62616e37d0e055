// SPDX-License-Identifier: Apache-2.0

package recordings

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// FirstNamed returns the time, Unix ns, of the first stack with a named function of a runtime, whose modules' names
// begin with system.
func FirstNamed(p *profile.Profile, system string) (ns int64, ok bool) {
	isNamed := func(l *profile.Location) bool {
		return l.Mapping != nil && strings.HasPrefix(l.Mapping.File, system) && len(l.Line) > 0 &&
			l.Line[0].Function.Name != "[freed]"
	}
	for _, sample := range p.Sample {
		end := sample.NumLabel["end_timestamp_ns"]
		if len(end) > 0 && (!ok || end[0] < ns) && slices.ContainsFunc(sample.Location, isNamed) {
			ns, ok = end[0], true
		}
	}
	return ns, ok
}
