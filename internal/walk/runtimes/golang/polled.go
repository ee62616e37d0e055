// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/internal/walk/managed"

// # Descriptors of the network poller
//
// A goroutine in "IO wait" has the address of a pollDesc (runtime/netpoll.go) on its stack, in the frames of
// netpollblock and internal/poll.runtime_pollWait, which use it after the wait. The pollDesc names its waiters:
//
//	+8 fd    +24 rg, +32 wg until Go 1.20; +32 rg, +40 wg since Go 1.21
//
// So a word of the stack that leads to the g is proof, as only netpollblock sets rg and wg, and clears them.
const (
	pollDescBytes = 48
	pollDescFD    = 8
	pollDescFirst = 24 // first word that can be a waiter
	maxFD         = 1 << 30
)

const waitReasonIO = "IO wait"

// Polled implements [managed.Scheduler].
func (ws *waitQueues) Polled(t *managed.TaskRecord, stack []byte) (fd int, ok bool) {
	if t.Wait != waitReasonIO {
		return 0, false
	}
	for off := 0; off+8 <= min(len(stack), maxWaitStack); off += 8 {
		at := word64(stack, int64(off))
		var d [pollDescBytes]byte
		if at%8 != 0 || at < 1<<16 || at >= t.StackLo && at < t.StackHi || ws.allgs.host.Read(at, d[:]) != len(d) {
			continue
		}
		for waiter := int64(pollDescFirst); waiter < pollDescBytes; waiter += 8 {
			if n := word64(d[:], pollDescFD); word64(d[:], waiter) == t.Object && n < maxFD {
				return int(n), true
			}
		}
	}
	return 0, false
}
