// SPDX-License-Identifier: Apache-2.0

package ptrace

import "prywalk/internal/procmem"

// allowance is the time left for reads in a stop. With a limit, memory is read in pieces; one that would probably end
// too late is omitted.
type allowance struct {
	until     int64 // on the clock of [Now]; 0: no limit
	pieceTime int64 // moving average of the time of a piece, ns
	short     bool  // a piece was omitted
}

const (
	pieceBytes     = 16 << 10 // bytes of a piece
	firstPieceTime = 8_000    // initial pieceTime, ns
	detachTakes    = 8_000    // ns
)

// begin starts the allowance of a stop begun at a time. longest is in ns, 0: no limit.
//
//go:nosplit
func (a *allowance) begin(at, longest int64) {
	a.short = false
	if a.until = 0; longest > 0 {
		a.until = at + longest - detachTakes
	}
	if a.pieceTime == 0 {
		a.pieceTime = firstPieceTime
	}
}

//go:nosplit
func (a *allowance) copy(m *Memory, tid int, addr uint64, buf []byte) (done int) {
	for done < len(buf) {
		n, began := a.step(len(buf) - done)
		if n == 0 {
			break
		}
		got := m.Copy(tid, addr+uint64(done), buf[done:done+n])
		a.noteStep(n, began)
		if done += got; got < n {
			break
		}
	}
	return done
}

//go:nosplit
func (a *allowance) readVM(tid int, addr uint64, buf []byte) (done int) {
	for done < len(buf) {
		n, began := a.step(len(buf) - done)
		if n == 0 {
			break
		}
		got := readVM(tid, addr+uint64(done), buf[done:done+n])
		a.noteStep(n, began)
		if done += got; got < n {
			break
		}
	}
	return done
}

// step returns the size of the next piece of n bytes, 0 if the time is over, and its begin.
//
//go:nosplit
func (a *allowance) step(n int) (int, int64) {
	if a.until == 0 {
		return n, 0
	}
	now := procmem.Now()
	if now+a.pieceTime > a.until {
		a.short = true
		return 0, now
	}
	return min(n, pieceBytes), now
}

//go:nosplit
func (a *allowance) noteStep(n int, began int64) {
	if a.until != 0 && n == pieceBytes {
		a.pieceTime += (procmem.Now() - began - a.pieceTime) / 2
	}
}
