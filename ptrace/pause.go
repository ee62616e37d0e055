// SPDX-License-Identifier: Apache-2.0

package ptrace

import "prywalk/internal/procmem"

// allowance is how long a stop may still last. Where there is a limit, memory is read in pieces, and none is begun that
// would not end in time by what the pieces before it took.
type allowance struct {
	until int64 // on the clock of [Now]; 0: there is no limit
	took  int64 // that a piece takes, ns: a mean in which the latest counts most
	short bool  // something was not read because of the limit
}

const (
	pauseStep  = 16 << 10 // bytes of a piece
	firstStep  = 8_000    // ns that a piece is thought to take before any was read
	letGoTakes = 8_000    // ns that are left for the detach
)

// begin sets the limit of a stop that began at a moment, 0 for none.
//
//go:nosplit
func (a *allowance) begin(at, longest int64) {
	a.short = false
	if a.until = 0; longest > 0 {
		a.until = at + longest - letGoTakes
	}
	if a.took == 0 {
		a.took = firstStep
	}
}

// copy reads memory of a process by what is known of it, as far as it is allowed.
//
//go:nosplit
func (a *allowance) copy(m *Memory, tid int, addr uint64, buf []byte) (done int) {
	for done < len(buf) {
		n, began := a.step(len(buf) - done)
		if n == 0 {
			break
		}
		got := m.Copy(tid, addr+uint64(done), buf[done:done+n])
		a.stepped(n, began)
		if done += got; got < n {
			break
		}
	}
	return done
}

// readVM is copy for a process of whose memory nothing is known.
//
//go:nosplit
func (a *allowance) readVM(tid int, addr uint64, buf []byte) (done int) {
	for done < len(buf) {
		n, began := a.step(len(buf) - done)
		if n == 0 {
			break
		}
		got := readVM(tid, addr+uint64(done), buf[done:done+n])
		a.stepped(n, began)
		if done += got; got < n {
			break
		}
	}
	return done
}

// step gives how many of n bytes are to be read next, 0 if there is no time for any, and when that begins.
//
//go:nosplit
func (a *allowance) step(n int) (int, int64) {
	if a.until == 0 {
		return n, 0
	}
	now := procmem.Now()
	if now+a.took > a.until {
		a.short = true
		return 0, now
	}
	return min(n, pauseStep), now
}

// stepped learns how long that took.
//
//go:nosplit
func (a *allowance) stepped(n int, began int64) {
	if a.until != 0 && n == pauseStep {
		a.took += (procmem.Now() - began - a.took) / 2
	}
}
