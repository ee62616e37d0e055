// SPDX-License-Identifier: Apache-2.0

package oracle

import "prywalk/frames"

type activation struct {
	pc   uint64 // return address; after a signal, the interrupted instruction
	slot uint64 // of the return address (x86-64), or the stack pointer at the call (arm64)
	sp   uint64 // the caller's, when control is back there
	fp   uint64 // the caller's then, which every function keeps (x86-64; 0: unknown)
	was  uint64 // slot before the address was moved (moved.go); 0: it was not
}

type shadow struct {
	calls   []activation
	base    int
	below   *shadow // the stack that this one was entered from and returns to
	id      uint64
	entered bool   // code of Go's runtime has changed to this stack from another
	hi      uint64 // Go: the end of the stack's memory when it was left
}

func (s *shadow) push(a activation) { s.calls = append(s.calls, a) }

func (s *shadow) popReturned(pc, sp uint64, returned bool, onStack bool) {
	for n := len(s.calls); n > 0; n-- {
		a := &s.calls[n-1]
		gone := sp > a.slot
		if !onStack && returned {
			gone = gone || sp == a.slot && pc == a.pc
		}
		if !gone {
			return
		}
		s.calls = s.calls[:n-1]
		s.base = min(s.base, n-1)
	}
}

func (s *shadow) chain(out []want, regs *frames.Regs) []want {
	out = append(out[:0], want{regs.PC, regs.SP()})
	for st := s; st != nil; st = st.below {
		for i := len(st.calls) - 1; i >= 0; i-- {
			out = append(out, want{st.calls[i].pc, st.calls[i].sp})
		}
	}
	return out
}

type want struct{ pc, sp uint64 }
