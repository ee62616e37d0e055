// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Budget is the number of file descriptors that may be kept open. All
// [ThreadFiles] and [TaskDir] of a process share one. It is safe for concurrent
// use. A nil Budget grants none.
type Budget struct {
	left atomic.Int64
}

// NewBudget gives a budget of the soft limit of open files (RLIMIT_NOFILE) less
// reserve, which is left for everything else that the process opens. A reserve of
// about 256 serves a command. The limit is read now: raise it before
// ([RaiseFileLimit]).
func NewBudget(reserve int) *Budget {
	b := new(Budget)
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) == nil {
		// A descriptor is an int of the kernel: larger limits mean "no limit".
		b.left.Store(int64(min(lim.Cur, 1<<30)) - int64(reserve))
	}
	return b
}

// Take asks for n descriptors, all or none.
func (b *Budget) Take(n int) bool {
	if b == nil {
		return false
	}
	if b.left.Add(int64(-n)) >= 0 {
		return true
	}
	b.left.Add(int64(n))
	return false
}

// Give gives n descriptors back.
func (b *Budget) Give(n int) {
	if b != nil {
		b.left.Add(int64(n))
	}
}

// Left gives the number of descriptors that can still be taken.
func (b *Budget) Left() int {
	if b == nil {
		return 0
	}
	return int(max(b.left.Load(), 0))
}

// RaiseFileLimit raises the soft limit of open files to the hard limit, and gives the limit in force. The Go runtime
// has mostly done so before main, and then gives programs that are started the old limit. So where there is nothing
// to raise the limit is not touched, which would end that courtesy.
func RaiseFileLimit() (uint64, error) {
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		return 0, err
	}
	if lim.Cur >= lim.Max {
		return lim.Cur, nil
	}
	raised := syscall.Rlimit{Cur: lim.Max, Max: lim.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err != nil {
		return lim.Cur, err
	}
	return raised.Cur, nil
}
