// SPDX-License-Identifier: Apache-2.0

package ptrace

// StackCopy is the copied part of a thread's stack.
//
//	lower addresses                                              higher addresses
//	StackAddr        sp                                  TailAddr             Top
//	│ red zone       │ inner frames …        ┆ left out ┆ │ outermost frames …│
//	└── StackLen bytes, in Stack or Larger ──┘            └── TailLen, in Tail ┘
type StackCopy struct {
	// StackAddr is the address of the StackLen bytes in Request.Stack. They are fewer than StackAsked at the end of the
	// mapping.
	StackAddr            uint64
	StackLen, StackAsked int
	// InLarger means that these bytes are in Request.Larger.
	InLarger bool
	// TailAddr is the address of the TailLen bytes in Request.Tail.
	TailAddr uint64
	TailLen  int
	// StackEnd is the end of the mapping, if Request.ToEnd is set and it is known, else 0.
	StackEnd uint64
	// Short means that Request.Longest ended the reading; StackAsked is StackLen.
	Short bool
}

// stackReader reads the stack in a stop.
type stackReader struct {
	got     StackCopy
	top     uint64 // end of the copy, or 0 if unknown
	allowed allowance
}

// mostStack is somewhat more than the usual RLIMIT_STACK, in bytes. An end that is further away belongs to another
// mapping.
const mostStack = 9 << 20

//go:nosplit
func (s *stackReader) reset() { s.got.StackLen, s.got.TailLen, s.got.InLarger = 0, 0, false }

//go:nosplit
func (s *stackReader) read(tid int, req *Request, sp uint64) {
	s.plan(req, sp)
	if req.Memory != nil {
		if len(req.Stack) > 0 {
			s.got.StackLen = s.allowed.copy(req.Memory, tid, s.got.StackAddr, s.to(req))
		}
		return
	}
	s.got.StackLen = s.allowed.readVM(tid, s.got.StackAddr, s.to(req))
	if s.got.StackLen == 0 { // nothing is mapped below sp
		s.got.StackAddr += redZone
		s.got.StackLen = s.allowed.readVM(tid, s.got.StackAddr, s.to(req))
	}
}

//go:nosplit
func (s *stackReader) plan(req *Request, sp uint64) {
	from := sp - redZone
	if req.Memory != nil && len(req.Stack) > 0 && from&^0xfff != sp&^0xfff && req.Memory.Start(sp) > from {
		from = sp // another mapping lies below
	}
	s.top, s.got.StackEnd = req.Top, 0
	if req.ToEnd && req.Memory != nil {
		end := req.Memory.End(sp)
		if s.top, s.got.StackEnd = end, end; end-sp > mostStack {
			s.top = 0
		}
	}
	size := s.top - from
	room, parted := len(req.Larger), size > uint64(len(req.Larger))
	if parted {
		room /= 2
	}
	deep := s.top > from && size > uint64(len(req.Stack)) && room > len(req.Stack) && (!parted || takesTail(req, size))
	asked := len(req.Stack)
	if deep {
		asked = room
	}
	s.got.StackAddr, s.got.InLarger, s.got.StackAsked = from, deep, upTo(s.top, from, asked)
}

//go:nosplit
func (s *stackReader) to(req *Request) []byte {
	if s.got.InLarger {
		return req.Larger[:s.got.StackAsked]
	}
	return req.Stack[:s.got.StackAsked]
}

//go:nosplit
func takesTail(req *Request, size uint64) bool {
	return len(req.Tail) > 0 && req.Memory != nil && size <= mostStack
}

//go:nosplit
func (s *stackReader) readTail(tid int, req *Request) {
	have, size := s.got.StackAddr+uint64(s.got.StackLen), uint64(len(req.Tail))
	if s.got.StackLen < s.got.StackAsked || s.top <= have || !takesTail(req, s.top-s.got.StackAddr) {
		return
	}
	s.got.TailAddr = max(have, s.top-size)
	s.got.TailLen = s.allowed.copy(req.Memory, tid, s.got.TailAddr, req.Tail[:s.top-s.got.TailAddr])
}

func (s *stackReader) result() StackCopy {
	got := s.got
	if got.Short = s.allowed.short; got.Short {
		got.StackAsked = got.StackLen
	}
	return got
}

//go:nosplit
func upTo(top, from uint64, n int) int {
	if top > from && top-from < uint64(n) {
		return int(top - from)
	}
	return n
}
