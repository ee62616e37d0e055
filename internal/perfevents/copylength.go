// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"slices"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// # Shorter copies
//
// A stack in a heap, such as a goroutine's, has no end of its mapping near, so all bytes are copied. Where less
// suffices, a second event with shorter copies samples into the first one's ring. The first then has a period of a
// year, and still reports creations and mappings.

const yearPeriod = 365 * 24 * 3600 * 1e9 // ns

// copyLengths are the shorter copies, bytes: each makes a record a power of two.
var copyLengths = [...]int{MinStack, 16<<10 - nonStackBytes, 32<<10 - nonStackBytes}

// shortestCopyFor returns the shortest copy of at least n bytes; 0: the longest.
func (r *Reader) shortestCopyFor(n int) int {
	for _, length := range copyLengths {
		if n <= length && length < r.opts.Stack {
			return length
		}
	}
	return 0
}

// setCopyLength sets the copied stack bytes; 0: the longest. It returns false if the kernel refuses. Preconditions: not
// PerThread; n is 0 or a result of shortestCopyFor.
func (r *Reader) setCopyLength(n int) bool {
	if n == r.copyLength {
		return true
	}
	ok := true
	for _, g := range r.rings {
		ok = ok && g.setCopyLength(&r.opts, n, r.paused)
	}
	if r.copyLength = n; !ok {
		r.copyLength = 0
		for _, g := range r.rings {
			_ = g.setCopyLength(&r.opts, 0, r.paused)
		}
	}
	return ok
}

func (g *ring) setCopyLength(o *Options, n int, paused bool) bool {
	if g.closeShortEvent(); n == 0 {
		return procmem.SetPeriod(g.fd, o.drawnPeriod()) == nil
	}
	short := Options{Freq: o.Freq, NoKernel: o.NoKernel, Stack: n}
	attr := short.attr()
	attr.Bits |= unix.PerfBitDisabled
	fd, err := unix.PerfEventOpen(&attr, -1, g.cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return false
	}
	g.shortEvent = fd
	if unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, g.fd) != nil || procmem.SetPeriod(g.fd, yearPeriod) != nil {
		return false
	}
	return paused || unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0) == nil
}

func (g *ring) closeShortEvent() {
	if g.shortEvent >= 0 {
		_ = unix.Close(g.shortEvent)
		g.shortEvent = -1
	}
}

// longest reports whether a sample has the most stack bytes. At the end of the user address space the kernel asks for
// less.
func (r *Reader) longest(asked int) bool {
	return asked >= r.opts.Stack || asked > 0 && !slices.Contains(copyLengths[:], asked)
}
