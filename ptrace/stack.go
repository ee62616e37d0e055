// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"time"

	"prywalk/internal/host/procmem"
)

// StackCopy is the copied part of a thread's stack.
type StackCopy struct {
	// StackAddr is the address of StackLen bytes, fewer than StackAsked at the end of the mapping.
	StackAddr            uint64
	StackLen, StackAsked int
	OutOfTime            bool // Request.MaxStop ended the reading; StackAsked is StackLen
}

type stackReader struct {
	copied   StackCopy
	deadline readDeadline
}

//go:nosplit
func (s *stackReader) read(tid int, req *Request, sp uint64) {
	from := sp - copiedBelowSP
	if req.Memory != nil && len(req.Stack) > 0 && from&^0xfff != sp&^0xfff && req.Memory.MappingStart(sp) > from {
		from = sp // another mapping lies below
	}
	s.copied.StackAddr, s.copied.StackAsked = from, len(req.Stack)
	s.copied.StackLen = s.deadline.read(req.Memory, tid, from, req.Stack)
	if s.copied.StackLen == 0 && req.Memory == nil { // nothing is mapped below sp
		s.copied.StackAddr += copiedBelowSP
		s.copied.StackLen = s.deadline.read(nil, tid, s.copied.StackAddr, req.Stack)
	}
}

func (s *stackReader) result() StackCopy {
	got := s.copied
	if got.OutOfTime = s.deadline.outOfTime; got.OutOfTime {
		got.StackAsked = got.StackLen
	}
	return got
}

// Reads in a stop are made in pieces. One that would probably end after the deadline is omitted. nil means no limit.
type readDeadline struct {
	until     Moment        // 0 means no limit
	pieceTime time.Duration // moving average
	outOfTime bool
}

const (
	pieceSize        = 16 << 10              // bytes of a piece
	initialPieceTime = 8 * time.Microsecond  // initial pieceTime
	maxPieceTime     = 64 * time.Microsecond // in a longer one this thread lost its CPU
	detachTime       = 8 * time.Microsecond  // for the detach after the reads
	leastReadShare   = 10                    // a stop that is late reads for a tenth of its longest length
)

// begin sets the deadline of a stop that began at at; longest is its longest length. It is 0 without a limit. While
// this thread waited for a CPU, the stop may have lasted that long already. Most reads take some µs, so such a stop
// would have been for nothing without them.
//
//go:nosplit
func (d *readDeadline) begin(at Moment, longest time.Duration) {
	d.outOfTime = false
	if d.until = 0; longest > 0 {
		d.until = max(at.Add(longest-detachTime), Now().Add(longest/leastReadShare))
	}
	if d.pieceTime == 0 {
		d.pieceTime = initialPieceTime
	}
}

// read reads by process_vm_readv(2) if m is nil.
//
//go:nosplit
func (d *readDeadline) read(m *Memory, tid int, addr uint64, buf []byte) (done int) {
	for done < len(buf) {
		n, began := d.nextPiece(len(buf) - done)
		if n == 0 {
			break
		}
		at, piece := addr+uint64(done), buf[done:done+n]
		var got int
		if m != nil {
			got = m.Copy(tid, at, piece)
		} else {
			got, _ = procmem.RawReadVM(tid, at, piece)
		}
		d.learnPieceTime(n, began)
		if done += got; got < n {
			break
		}
	}
	return done
}

// nextPiece returns 0 if the time is over, and when the piece begins. Each refusal lowers the expected time of a piece,
// else one slow piece would have all later ones refused.
//
//go:nosplit
func (d *readDeadline) nextPiece(n int) (int, Moment) {
	if d == nil || d.until == 0 {
		return n, 0
	}
	now := Now()
	if now.Add(d.pieceTime) > d.until {
		d.outOfTime = true
		d.pieceTime -= d.pieceTime / 4
		return 0, now
	}
	return min(n, pieceSize), now
}

//go:nosplit
func (d *readDeadline) learnPieceTime(n int, began Moment) {
	if d != nil && d.until != 0 && n == pieceSize {
		d.pieceTime += (min(Now().Sub(began), maxPieceTime) - d.pieceTime) / 2
	}
}
