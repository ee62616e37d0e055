// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"errors"
	"syscall"

	"prywalk/internal/refusal"
)

// What callers branch on besides [refusal.Gone] (ESRCH, ENOENT) and [refusal.Denied] (EACCES, EPERM). All are returned
// as they are, so that no read allocates memory; the caller knows which thread and which file it asked for.
var (
	// ErrFormat: a file does not have the form that proc(5) gives.
	ErrFormat = errors.New("unexpected format of a file in /proc")
	// ErrFault: nothing could be read at the address (EFAULT, EIO).
	ErrFault = errors.New("address is not mapped or not readable in the process")
)

// classify turns an error number into one of the errors above, or gives it as it
// is. Conversion of an Errno below 256 to an interface does not allocate.
func classify(e syscall.Errno) error {
	switch e {
	case 0:
		return nil
	case syscall.ESRCH, syscall.ENOENT:
		return refusal.Gone
	case syscall.EACCES, syscall.EPERM:
		return refusal.Denied
	case syscall.EFAULT, syscall.EIO:
		return ErrFault
	}
	return e
}
