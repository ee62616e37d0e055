// SPDX-License-Identifier: Apache-2.0

package ptrace

import "prywalk/internal/procmem"

// StackCopy is the copied part of a thread's stack.
//
//	lower addresses                                              higher addresses
//	StackAddr        sp                                  TailAddr         CopyEnd
//	│ red zone       │ inner frames …        ┆ left out ┆ │ outermost frames …│
//	└── StackLen bytes, in Stack or Larger ──┘            └── TailLen, in Tail ┘
type StackCopy struct {
	// StackAddr is the address of StackLen bytes, fewer than StackAsked at the end of the mapping.
	StackAddr            uint64
	StackLen, StackAsked int
	InLarger             bool   // they are in Request.Larger instead
	TailAddr             uint64 // address of TailLen bytes in Request.Tail
	TailLen              int
	StackEnd             uint64 // end of the mapping, if Request.ToMappingEnd and known, else 0
	OutOfTime            bool   // Request.MaxStop ended the reading; StackAsked is StackLen
}

type stackReader struct {
	copied   StackCopy
	copyEnd  uint64 // 0: unknown
	deadline readDeadline
}

// Above the usual RLIMIT_STACK. An end farther away is another mapping's.
const maxStack = 9 << 20

//go:nosplit
func (s *stackReader) reset() { s.copied.StackLen, s.copied.TailLen, s.copied.InLarger = 0, 0, false }

//go:nosplit
func (s *stackReader) read(tid int, req *Request, sp uint64) {
	s.plan(req, sp)
	s.copied.StackLen = s.deadline.read(req.Memory, tid, s.copied.StackAddr, s.buffer(req))
	if s.copied.StackLen == 0 && req.Memory == nil { // nothing is mapped below sp
		s.copied.StackAddr += copiedBelowSP
		s.copied.StackLen = s.deadline.read(nil, tid, s.copied.StackAddr, s.buffer(req))
	}
}

//go:nosplit
func (s *stackReader) plan(req *Request, sp uint64) {
	from := sp - copiedBelowSP
	if req.Memory != nil && len(req.Stack) > 0 && from&^0xfff != sp&^0xfff && req.Memory.MappingStart(sp) > from {
		from = sp // another mapping lies below
	}
	s.copyEnd, s.copied.StackEnd = req.CopyEnd, 0
	if req.ToMappingEnd && req.Memory != nil {
		end := req.Memory.MappingEnd(sp)
		if s.copyEnd, s.copied.StackEnd = end, end; end-sp > maxStack {
			s.copyEnd = 0
		}
	}
	room, inLarger := roomFor(req, s.copyEnd-min(from, s.copyEnd))
	s.copied.StackAddr, s.copied.InLarger = from, inLarger
	s.copied.StackAsked = bytesUpTo(s.copyEnd, from, room)
}

// roomFor returns where the copy of a stack goes, by its size up to the end of the copy (0: unknown):
//
//	size ≤ Stack                        │ Stack       │
//	Stack < size ≤ Larger               │ Larger               │
//	Larger < size, and there is a Tail  │ half of Larger │ ┆ left out ┆ │ Tail │
//	anything else                       │ Stack       │   (cut)
//
// Tail receives the outermost bytes of a stack cut in Stack, too, if it can ([stackReader.readTail]).
//
//go:nosplit
func roomFor(req *Request, size uint64) (room int, inLarger bool) {
	switch {
	case size <= uint64(len(req.Stack)), len(req.Stack) == 0:
	case size <= uint64(len(req.Larger)):
		return len(req.Larger), true
	case takesTail(req, size) && len(req.Larger)/2 > len(req.Stack):
		return len(req.Larger) / 2, true
	}
	return len(req.Stack), false
}

//go:nosplit
func (s *stackReader) buffer(req *Request) []byte {
	if s.copied.InLarger {
		return req.Larger[:s.copied.StackAsked]
	}
	return req.Stack[:s.copied.StackAsked]
}

//go:nosplit
func takesTail(req *Request, size uint64) bool {
	return len(req.Tail) > 0 && req.Memory != nil && size <= maxStack
}

//go:nosplit
func (s *stackReader) readTail(tid int, req *Request) {
	have, size := s.copied.StackAddr+uint64(s.copied.StackLen), uint64(len(req.Tail))
	if s.copied.StackLen < s.copied.StackAsked || s.copyEnd <= have || !takesTail(req, s.copyEnd-s.copied.StackAddr) {
		return
	}
	s.copied.TailAddr = max(have, s.copyEnd-size)
	s.copied.TailLen = s.deadline.read(req.Memory, tid, s.copied.TailAddr, req.Tail[:s.copyEnd-s.copied.TailAddr])
}

func (s *stackReader) result() StackCopy {
	got := s.copied
	if got.OutOfTime = s.deadline.outOfTime; got.OutOfTime {
		got.StackAsked = got.StackLen
	}
	return got
}

//go:nosplit
func bytesUpTo(end, from uint64, n int) int {
	if end > from && end-from < uint64(n) {
		return int(end - from)
	}
	return n
}

// Reads in a stop are made in pieces. One that would probably end after the deadline is omitted. nil: no limit.
type readDeadline struct {
	until     int64 // 0: no limit
	pieceTime int64 // moving average, ns
	outOfTime bool
}

const (
	pieceSize        = 16 << 10 // bytes of a piece
	initialPieceTime = 8_000    // initial pieceTime, ns
	maxPieceTime     = 64_000   // ns; in a longer one this thread lost its CPU
	detachTime       = 8_000    // ns for the detach after the reads
	leastReadShare   = 10       // a stop that is late reads for a tenth of its longest length
)

// begin sets the deadline of a stop that began at at; longest is its longest length in ns, 0: no limit. While this
// thread waited for a CPU, the stop may have lasted that long already. Most reads take some µs, so such a stop would
// have been for nothing without them.
//
//go:nosplit
func (d *readDeadline) begin(at, longest int64) {
	d.outOfTime = false
	if d.until = 0; longest > 0 {
		d.until = max(at+longest-detachTime, procmem.Now()+longest/leastReadShare)
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
			got = readVM(tid, at, piece)
		}
		d.notePiece(n, began)
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
func (d *readDeadline) nextPiece(n int) (int, int64) {
	if d == nil || d.until == 0 {
		return n, 0
	}
	now := procmem.Now()
	if now+d.pieceTime > d.until {
		d.outOfTime = true
		d.pieceTime -= d.pieceTime / 4
		return 0, now
	}
	return min(n, pieceSize), now
}

//go:nosplit
func (d *readDeadline) notePiece(n int, began int64) {
	if d != nil && d.until != 0 && n == pieceSize {
		d.pieceTime += (min(procmem.Now()-began, maxPieceTime) - d.pieceTime) / 2
	}
}
