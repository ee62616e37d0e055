// SPDX-License-Identifier: Apache-2.0

package frames

type callCache struct {
	calls  placeCache[callEntry]
	starts placeCache[startEntry]
	jumps  placeCache[jumpEntry]
}

func (c *callCache) clear() {
	c.calls.clear()
	c.starts.clear()
	c.jumps.clear()
}

// placeCache is a direct-mapped cache of what is known of addresses. It grows while it fills.
type placeCache[T interface{ at() Addr }] struct {
	list  []T
	bits  uint
	fills int // places written since it has this size
	used  bool
}

// clear does not touch an unused cache, which saves 80 KB of writes.
func (c *placeCache[T]) clear() {
	if c.used {
		clear(c.list)
		c.fills, c.used = 0, false
	}
}

const leastPlaces = 4

// of returns the place for an address, which may have another one.
func (c *placeCache[T]) of(a Addr) *T {
	if c.list == nil {
		c.bits, c.list = leastPlaces, make([]T, 1<<leastPlaces)
	}
	return &c.list[hash(a, c.bits)]
}

// replace returns a place to write for an address that has none. The cache grows to at most 1<<most places.
func (c *placeCache[T]) replace(a Addr, most uint) *T {
	c.used = true
	if c.fills++; c.fills > len(c.list)/2 && c.bits < most {
		old := c.list
		c.bits, c.fills = c.bits+growBits, 0
		c.list = make([]T, 1<<c.bits)
		for i := range old {
			if at := old[i].at(); at != 0 {
				c.list[hash(at, c.bits)] = old[i]
			}
		}
	}
	return &c.list[hash(a, c.bits)]
}

type callEntry struct {
	ret  Addr
	call Call
	ok   bool
}

func (e callEntry) at() Addr { return e.ret }

// callBits is log2 of the most places of calls.
const callBits = 11

// startBits is log2 of the most places of function starts and jumps. Only scans and searches ask for these.
const startBits = 8

type startEntry struct {
	pc, start Addr
	ok, valid bool
}

func (e startEntry) at() Addr { return e.pc }

type jumpEntry struct {
	start         Addr
	leaves, valid bool
}

func (e jumpEntry) at() Addr { return e.start }

// callBefore reports whether a call instruction ends at ret. Its Target is a run-time address.
func (s *Space) callBefore(ret Addr) (Call, bool) {
	e := s.calls.calls.of(ret)
	if e.ret != ret {
		e = s.calls.calls.replace(ret, callBits)
		*e = callEntry{ret: ret}
		if m := s.Find(ret - 1); m != nil && m.Calls != nil {
			e.call, e.ok = m.Calls.CallBefore(ret - m.Bias)
			e.call.Target += m.Bias
		}
	}
	return e.call, e.ok
}

func (s *Space) followsCall(ret Addr) bool {
	_, ok := s.callBefore(ret)
	return ok
}

// mayLeaveByJump reports whether the function at start may end in a jump to another one.
func (s *Space) mayLeaveByJump(start Addr) bool {
	e := s.calls.jumps.of(start)
	if e.start == start && e.valid {
		return e.leaves
	}
	e = s.calls.jumps.replace(start, startBits)
	*e = jumpEntry{start: start, leaves: true, valid: true}
	if m := s.Find(start); m != nil {
		if j, ok := m.Calls.(TailCalls); ok {
			e.leaves = j.LeavesByJump(start - m.Bias)
		}
	}
	return e.leaves
}

func (s *Space) funcStart(pc Addr) (Addr, bool) {
	e := s.calls.starts.of(pc)
	if e.pc == pc && e.valid {
		return e.start, e.ok
	}
	e = s.calls.starts.replace(pc, startBits)
	*e = startEntry{pc: pc, valid: true}
	if m := s.Find(pc); m != nil && m.Calls != nil {
		e.start, e.ok = m.Calls.FuncStart(pc - m.Bias)
		e.start += m.Bias
	}
	return e.start, e.ok
}

// mayCall reports whether v follows a call that can have led to the function at start, which is valid if known.
func (s *Space) mayCall(v, start Addr, known bool) bool {
	if v < 4096 {
		return false
	}
	call, ok := s.callBefore(v)
	if !ok {
		return false
	}
	if !known && call.Direct {
		// A called function that no jump leaves cannot have led to code without known bounds.
		return s.mayLeaveByJump(call.Target)
	}
	return !call.Direct || call.Target == start
}

func (s *Space) isGenerated(v Addr) bool {
	m := s.Find(v)
	return m != nil && m.Generated
}
