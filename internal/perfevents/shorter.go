// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"slices"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// # Shorter copies
//
// An event copies as much stack of everybody. Where the stack ends there, the copy does, too. Nothing ends a stack that
// lies in a heap, as those of goroutines: all that may be copied is copied. So a second event can take samples with
// shorter copies. It writes to the ring of the first one, which has a period of years meanwhile. The first event
// stays on: it tells of births and mappings, and the ring is its own.

// never is a period that does not end, in nanoseconds: a year.
const never = 365 * 24 * 3600 * 1e9

// lengths are those of shorter copies, in bytes. Each makes a record of a power of two.
var lengths = [...]int{LeastStack, 16<<10 - besideStack, 32<<10 - besideStack}

// Fit gives the shortest length of copies that is not below n bytes; 0: all that is copied at most.
func (r *Reader) Fit(n int) int {
	for _, length := range lengths {
		if n <= length && length < r.opts.Stack {
			return length
		}
	}
	return 0
}

// Shorter gives how many bytes of stack are copied; 0: as many as there is room for, [Reader.Stack].
func (r *Reader) Shorter() int { return r.shorter }

// CopyShorter has samples copy n bytes of stack from now on, or as many as there is room for, if n is 0. A system that
// refuses it goes on as before: false. Precondition: not Own, n is 0 or what Fit gave.
func (r *Reader) CopyShorter(n int) bool {
	if n == r.shorter {
		return true
	}
	ok := true
	for _, g := range r.rings {
		ok = ok && g.copyShorter(&r.opts, n, r.still)
	}
	if r.shorter = n; !ok {
		r.shorter = 0
		for _, g := range r.rings {
			_ = g.copyShorter(&r.opts, 0, r.still) // nothing else can be done
		}
	}
	return ok
}

// copyShorter is CopyShorter for one processor. still: nobody is to be sampled yet.
func (g *ring) copyShorter(o *Options, n int, still bool) bool {
	if g.dropShorter(); n == 0 {
		return procmem.SetPeriod(g.fd, o.period()) == nil
	}
	short := Options{Freq: o.Freq, NoKernel: o.NoKernel, Stack: n}
	attr := short.attr()
	attr.Bits |= unix.PerfBitDisabled
	fd, err := unix.PerfEventOpen(&attr, -1, g.cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return false
	}
	g.short = fd
	if unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, g.fd) != nil || procmem.SetPeriod(g.fd, never) != nil {
		return false
	}
	return still || unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0) == nil
}

// dropShorter ends the event with shorter copies, if there is one.
func (g *ring) dropShorter() {
	if g.short >= 0 {
		_ = unix.Close(g.short) // nothing was written
		g.short = -1
	}
}

// longest reports whether no sample has more stack than one with so many bytes. The kernel asks for less than it was
// told to where the addresses of programs end.
func (r *Reader) longest(asked int) bool {
	return asked >= r.opts.Stack || asked > 0 && !slices.Contains(lengths[:], asked)
}
