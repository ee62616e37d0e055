// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// # First looks
//
// Whether a thread makes many system calls is known after some stops. To book the first looks as they are would
// favour what is not a system call: the first stop in one tells that the thread makes many. So they wait, and are
// booked, all in the same way, when it is known.

const (
	// mostWaiting and waitFor bound how many looks wait, and how long, in nanoseconds. A thread that has not been
	// seen at work often enough by then is taken as it is.
	mostWaiting = 64
	waitFor     = 1e9
)

// decideFirst reports whether the first looks at a thread are to be booked now that another one with this basis comes.
// So many wait, and have waited for so long, in nanoseconds. manyCalls: the thread makes many system calls.
func decideFirst(waiting int, since int64, next sample.Basis) (now, manyCalls bool) {
	switch {
	case waiting == 0:
		return false, false
	case waiting >= mostWaiting || since > waitFor:
		return true, false
	}
	many := next == sample.ManyCalls || next == sample.Skids
	return many || next == sample.FewCalls, many
}
