// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// # First samples
//
// Whether a thread makes many system calls, so that stops skid to their ends (package skid), is known after some stops.
// Until then samples are deferred.

const (
	// mostDeferred and longestDeferred bound the number and the age (ns) of deferred samples; beyond, few calls are
	// assumed.
	mostDeferred    = 64
	longestDeferred = 1e9
)

// decideFirst reports whether deferred samples are attributed before the next one, and as those of a thread with many
// calls. since is the age of the first of them, ns.
func decideFirst(waiting int, since int64, next sample.Basis) (now, manyCalls bool) {
	switch {
	case waiting == 0:
		return false, false
	case waiting >= mostDeferred || since > longestDeferred:
		return true, false
	}
	many := next == sample.ManyCalls || next == sample.Skids
	return many || next == sample.FewCalls, many
}
