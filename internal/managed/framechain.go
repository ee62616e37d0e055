// SPDX-License-Identifier: Apache-2.0

package managed

import "prywalk/frames"

// Chained is a Runtime whose tasks have stacks of their own, connected with the scheduler's by frame pointers.
type Chained interface {
	Runtime
	// NextRecords appends the address of the record that follows each of a chain of frame records, 0 behind the outermost
	// frame, until one is not known. The first record is at an address; returns has the return address in each.
	NextRecords(record frames.Addr, returns []uint64, out []frames.Addr) []frames.Addr
}
