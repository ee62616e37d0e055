// SPDX-License-Identifier: Apache-2.0

package frames

// Linux maps the first page for no ordinary process (vm.mmap_min_addr).
const minCodeAddr = 4096

type callSites struct {
	calls       cache[foundCall]
	functions   cache[function]
	tailCallers cache[bool] // whether a function may end in a jump, by its start
	switches    cache[bool] // whether code is on another stack than its caller
}

func (c *callSites) clear() {
	c.calls.clear()
	c.functions.clear()
	c.tailCallers.clear()
	c.switches.clear()
}

type foundCall struct {
	Call
	ok bool
}

type function struct {
	start Addr // run-time address, valid if known
	known bool
}

func (s *Space) callBefore(ret Addr) (Call, bool) {
	k := keyOf(Query{PC: ret, AfterCall: true})
	c, known := s.sites.calls.get(k)
	if !known {
		m := s.ModuleAt(ret - 1)
		if m == nil || m.Calls == nil {
			return Call{}, false // not cached: a scan asks for many words that are no addresses
		}
		c.Call, c.ok = m.Calls.CallBefore(ret - m.Bias)
		c.Target += m.Bias
		s.sites.calls.add(k, c)
	}
	return c.Call, c.ok
}

func (s *Space) followsCall(ret Addr) bool {
	_, ok := s.callBefore(ret)
	return ok
}

func (s *Space) mayTailCall(start Addr) bool {
	k := keyOf(Query{PC: start})
	may, known := s.sites.tailCallers.get(k)
	if !known {
		may = true
		if m := s.ModuleAt(start); m != nil {
			if tails, ok := m.Calls.(TailCalls); ok {
				may = tails.EndsInTailCall(start - m.Bias)
			}
		}
		s.sites.tailCallers.add(k, may)
	}
	return may
}

func (s *Space) functionAt(pc Addr) function {
	k := keyOf(Query{PC: pc})
	f, cached := s.sites.functions.get(k)
	if !cached {
		if m := s.ModuleAt(pc); m != nil && m.Calls != nil {
			f.start, f.known = m.Calls.FuncStart(pc - m.Bias)
			f.start += m.Bias
		}
		s.sites.functions.add(k, f)
	}
	return f
}

// switchesStack reports whether the code at pc has loaded another stack's pointer, as gcc's __morestack. afterCall is
// [Query.AfterCall].
func (s *Space) switchesStack(m *Module, pc Addr, afterCall bool) bool {
	k := keyOf(Query{PC: pc, AfterCall: afterCall})
	switched, known := s.sites.switches.get(k)
	if !known {
		if m != nil {
			if switches, ok := m.Calls.(StackSwitches); ok {
				switched = switches.SwitchesStack(pc-m.Bias, afterCall)
			}
		}
		s.sites.switches.add(k, switched)
	}
	return switched
}

// isReturnAddressOf reports whether v follows a call that can have led to the callee. A direct call must be of the
// callee, or, if that is unknown, of a function that may end in a tail call.
func (s *Space) isReturnAddressOf(v Addr, callee function) bool {
	if v < minCodeAddr {
		return false
	}
	call, ok := s.callBefore(v)
	switch {
	case !ok:
		return false
	case !call.Direct:
		return true
	case callee.known:
		return call.Target == callee.start
	}
	return s.mayTailCall(call.Target) // a function without jumps out cannot have led to code of unknown bounds
}

func (s *Space) isGenerated(v Addr) bool {
	m := s.ModuleAt(v)
	return m != nil && m.Generated
}
