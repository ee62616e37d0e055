// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// # First samples
//
// Whether a thread makes many system calls is known after some stops. Until then samples are deferred: else code
// outside of system calls would be favoured.

const (
	// number and age (ns); after that, few calls are assumed
	mostDeferred    = 64
	longestDeferred = 1e9
)

// since is the age of the first deferred sample, ns.
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
