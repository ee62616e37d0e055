// SPDX-License-Identifier: Apache-2.0

package ptrace

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
