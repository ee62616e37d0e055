// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"math/bits"

	"golang.org/x/sys/unix"
)

const auxExecFn = 31 // AT_EXECFN (include/uapi/linux/auxvec.h): the program's name, on the stack

// UserPACMask is the mask of pointer authentication codes in this machine's user space addresses, if it is an arm64:
// bits 54 down to the size of an address (arch/arm64/include/asm/pointer_auth.h). The stack is at the top.
var UserPACMask = pacMask(stackAddr())

func stackAddr() uint64 {
	vector, _ := unix.Auxv()
	for _, entry := range vector {
		if entry[0] == auxExecFn {
			return uint64(entry[1])
		}
	}
	return 0
}

// pacMask knows the sizes of arch/arm64/Kconfig (ARM64_VA_BITS). With 52 bits, addresses mostly have 48.
func pacMask(stack uint64) uint64 {
	switch size := bits.Len64(stack); size {
	case 36, 39, 42, 47:
		return 1<<55 - 1<<size
	}
	return 1<<55 - 1<<48
}
