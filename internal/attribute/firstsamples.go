// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// # First samples
//
// Samples are deferred until a stop shows whether the thread makes many system calls (package skid).

const (
	// Bounds of number and age (ns) of deferred samples, from which on few calls are assumed.
	mostDeferred    = 64
	longestDeferred = 1e9
)

// deferredAreDue reports whether the deferred samples are due before the next one, and whether with many calls. since
// is the age of the first, ns.
func deferredAreDue(waiting int, since int64, next sample.Basis) (now, manyCalls bool) {
	switch {
	case waiting == 0:
		return false, false
	case waiting >= mostDeferred || since > longestDeferred:
		return true, false
	}
	many := next == sample.ManyCalls || next == sample.Skids
	return many || next == sample.FewCalls, many
}
