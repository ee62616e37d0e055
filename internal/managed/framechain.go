// SPDX-License-Identifier: Apache-2.0

package managed

import "prywalk/frames"

// Chained is a Runtime whose tasks have stacks of their own, linked to the scheduler's stack by frame pointers.
type Chained interface {
	Runtime
	// NextRecords follows a chain of frame records from record, whose return addresses are returns. It appends for each
	// record the address of the next, 0 after the outermost frame, and ends at the first unknown one.
	NextRecords(record frames.Addr, returns []uint64, out []frames.Addr) []frames.Addr
}
