// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"errors"
	"syscall"

	"prywalk/internal/base/refusal"
)

// Errors besides [refusal.Exited] (ESRCH, ENOENT) and [refusal.Denied] (EACCES, EPERM), unwrapped.
var (
	errFormat = errors.New("unexpected format of a file in /proc")                 // a file is not as in proc(5)
	ErrFault  = errors.New("address is not mapped or not readable in the process") // EFAULT, EIO
)

func classify(e syscall.Errno) error {
	switch e {
	case 0:
		return nil
	case syscall.ESRCH, syscall.ENOENT:
		return refusal.Exited
	case syscall.EACCES, syscall.EPERM:
		return refusal.Denied
	case syscall.EFAULT, syscall.EIO:
		return ErrFault
	}
	return e
}
