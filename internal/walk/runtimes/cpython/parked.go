// SPDX-License-Identifier: Apache-2.0

package cpython

import "prywalk/internal/walk/managed"

// parkedBefore is the distance from the word before the semaphore in struct wait_entry (Python/parking_lot.c, 3.13 on),
// which is on the waiter's stack, to the semaphore.
const parkedBefore = 8

// parkedAt returns the address at which a thread that sleeps in _PyParkingLot_Park is parked. For another thread it
// returns a word of the process, or 0.
func (in *interpreter) parkedAt(q *managed.WaitQuery) (at uint64) {
	switch {
	case in.minor < 13:
	case q.Mem == nil:
		at = in.read64(q.Word - parkedBefore)
	default:
		at, _ = q.Mem.Word(q.Word - parkedBefore)
	}
	return at
}
