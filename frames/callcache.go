// SPDX-License-Identifier: Apache-2.0

package frames

// callCache keeps what modules know of run-time addresses.
type callCache struct {
	calls       boundedMap[foundCall]
	starts      boundedMap[foundStart]
	tailCallers boundedMap[bool] // functions that may end in a jump, by their start
}

func (c *callCache) clear() {
	clear(c.calls)
	clear(c.starts)
	clear(c.tailCallers)
}

// maxCachedCalls bounds the addresses of each kind; beyond it all are dropped.
const maxCachedCalls = 2048

type boundedMap[T any] map[Addr]T

func (a *boundedMap[T]) put(at Addr, v T) T {
	if len(*a) >= maxCachedCalls {
		clear(*a)
	}
	if *a == nil {
		*a = boundedMap[T]{}
	}
	(*a)[at] = v
	return v
}

type foundCall struct {
	Call
	ok bool
}

type foundStart struct {
	start Addr
	ok    bool
}

// callBefore returns the call that ends at ret. Its Target is a run-time address.
func (s *Space) callBefore(ret Addr) (Call, bool) {
	c, known := s.calls.calls[ret]
	if !known {
		if m := s.ModuleAt(ret - 1); m != nil && m.Calls != nil {
			c.Call, c.ok = m.Calls.CallBefore(ret - m.Bias)
			c.Target += m.Bias
		}
		s.calls.calls.put(ret, c)
	}
	return c.Call, c.ok
}

func (s *Space) followsCall(ret Addr) bool {
	_, ok := s.callBefore(ret)
	return ok
}

func (s *Space) mayTailCall(start Addr) bool {
	if leaves, known := s.calls.tailCallers[start]; known {
		return leaves
	}
	leaves := true
	if m := s.ModuleAt(start); m != nil {
		if j, ok := m.Calls.(TailCalls); ok {
			leaves = j.EndsInTailCall(start - m.Bias)
		}
	}
	return s.calls.tailCallers.put(start, leaves)
}

func (s *Space) funcStart(pc Addr) (Addr, bool) {
	f, known := s.calls.starts[pc]
	if !known {
		if m := s.ModuleAt(pc); m != nil && m.Calls != nil {
			f.start, f.ok = m.Calls.FuncStart(pc - m.Bias)
			f.start += m.Bias
		}
		s.calls.starts.put(pc, f)
	}
	return f.start, f.ok
}

// isReturnAddressOf reports whether v follows a call that can have led to the function at start, valid if known.
func (s *Space) isReturnAddressOf(v, start Addr, known bool) bool {
	if v < 4096 {
		return false
	}
	call, ok := s.callBefore(v)
	if !ok {
		return false
	}
	if !known && call.Direct {
		// a function that no jump leaves cannot have led to code of unknown bounds
		return s.mayTailCall(call.Target)
	}
	return !call.Direct || call.Target == start
}

func (s *Space) isGenerated(v Addr) bool {
	m := s.ModuleAt(v)
	return m != nil && m.Generated
}
