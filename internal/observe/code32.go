// SPDX-License-Identifier: Apache-2.0

package observe

// # 32-bit code
//
// A recording goes on after an exec of a 32-bit program. A stop in 32-bit code reads nothing, and does not restart the
// system call that it ends early. So after each such stop in a row twice as many stops are omitted. A stop in 64-bit
// code (Wine uses both), or an exec, ends that.

// maxOmitted32 is the most omitted stops in a row.
const maxOmitted32 = 63

type code32 struct {
	addressSpace uint64 // of the last stop in 32-bit code
	omit, left   uint8  // stops to omit after it, and of these still left
}

func (c *code32) noteStop(addressSpace uint64) {
	if addressSpace != c.addressSpace {
		*c = code32{addressSpace: addressSpace}
	}
	c.omit = min(2*c.omit+1, maxOmitted32)
	c.left = c.omit
}

// tryOmit reports whether to omit a stop in this address space.
func (c *code32) tryOmit(addressSpace uint64) bool {
	if c.left == 0 || addressSpace != c.addressSpace {
		return false
	}
	c.left--
	return true
}
