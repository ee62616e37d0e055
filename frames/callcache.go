// SPDX-License-Identifier: Apache-2.0

package frames

// callCache keeps what a module's [CallSites] has told, by address.
type callCache struct {
	calls  [1 << callBits]callEntry
	starts [1 << startBits]startEntry
	jumps  [1 << startBits]jumpEntry
	used   bool
}

// clear forgets all. A cache that was not used is empty: 80 KB less are written.
func (c *callCache) clear() {
	if c.used {
		*c = callCache{}
	}
}

// callEntry caches whether a call precedes an address.
type callEntry struct {
	ret  Addr
	call Call
	ok   bool
}

// callBits sizes the cache of what is known of calls.
const callBits = 11

// startBits sizes the cache of function starts, which only the scan asks for.
const startBits = 8

// startEntry caches where the function starts that an address is in.
type startEntry struct {
	pc, start Addr
	ok, valid bool
}

// jumpEntry caches whether a function may be left by a jump.
type jumpEntry struct {
	start         Addr
	leaves, valid bool
}

// callBefore reports whether a call instruction ends at ret, and what it calls
// as a run-time address.
func (s *Space) callBefore(ret Addr) (Call, bool) {
	e := &s.known.calls[hash(ret, callBits)]
	if e.ret != ret {
		*e, s.known.used = callEntry{ret: ret}, true
		if m := s.Find(ret - 1); m != nil && m.Calls != nil {
			e.call, e.ok = m.Calls.CallBefore(ret - m.Bias)
			e.call.Target += m.Bias
		}
	}
	return e.call, e.ok
}

// follows reports whether a call instruction ends at ret.
func (s *Space) follows(ret Addr) bool {
	_, ok := s.callBefore(ret)
	return ok
}

// leaves reports whether the function that starts at a run-time address may end in a jump
// to another one.
func (s *Space) leaves(start Addr) bool {
	e := &s.known.jumps[hash(start, startBits)]
	if e.start == start && e.valid {
		return e.leaves
	}
	*e, s.known.used = jumpEntry{start: start, leaves: true, valid: true}, true
	if m := s.Find(start); m != nil {
		if j, ok := m.Calls.(Jumps); ok {
			e.leaves = j.LeavesByJump(start - m.Bias)
		}
	}
	return e.leaves
}

// funcStart gives the run-time address of the function that pc is in.
func (s *Space) funcStart(pc Addr) (Addr, bool) {
	e := &s.known.starts[hash(pc, startBits)]
	if e.pc == pc && e.valid {
		return e.start, e.ok
	}
	*e, s.known.used = startEntry{pc: pc, valid: true}, true
	if m := s.Find(pc); m != nil && m.Calls != nil {
		e.start, e.ok = m.Calls.FuncStart(pc - m.Bias)
		e.start += m.Bias
	}
	return e.start, e.ok
}
