// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/osthread"
)

// seize stops nothing; the kernel detaches when the tracing thread ends (ptrace(2)).
func seize(pid int) (err error) {
	osthread.Run(func() { err = unix.PtraceSeize(pid) })
	return err
}
