// SPDX-License-Identifier: Apache-2.0

package frames

// Linux maps the first page for no ordinary process (vm.mmap_min_addr).
const minCodeAddr = 4096

// Kinds of answers about calls.
const (
	kindCall       kind = 8 // an encoded call
	kindFunction   kind = 9 // start of the function, or 0
	kindTailCaller kind = 10
	kindSwitch     kind = 12 // and kindAfterCall
)

// Words for the calls without a known target, which is no code.
const (
	noCall uint64 = iota
	indirectCall
	numNoTargets
)

// noFunction is the start of an unknown function.
const noFunction Addr = 0

// callBefore returns where the call before ret leads to, noFunction if that is indirect; false if there is no call.
func (s *Space) callBefore(ret Addr) (to Addr, ok bool) {
	a, known := s.cache.get(kindCall, ret)
	if !known {
		m := s.ModuleAt(ret - 1)
		if m == nil || m.Calls == nil {
			return noFunction, false // not cached: a scan asks for many words that are no addresses
		}
		c, ok := m.Calls.CallBefore(ret - m.Bias)
		switch {
		case ok && c.Direct:
			a.word = max(c.Target+m.Bias, numNoTargets)
		case ok:
			a.word = indirectCall
		}
		s.cache.put(kindCall, ret, a)
	}
	if a.word < numNoTargets {
		return noFunction, a.word == indirectCall
	}
	return a.word, true
}

func (s *Space) followsCall(ret Addr) bool {
	_, ok := s.callBefore(ret)
	return ok
}

// cached returns the word that ask gives for an address of a module with its code; 0 elsewhere.
func (s *Space) cached(k kind, pc Addr, ask func(m *Module) uint64) uint64 {
	a, known := s.cache.get(k, pc)
	if !known {
		if m := s.ModuleAt(pc); m != nil && m.Calls != nil {
			a.word = ask(m)
		}
		s.cache.put(k, pc, a)
	}
	return a.word
}

func (s *Space) mayTailCall(start Addr) bool {
	return s.cached(kindTailCaller, start, func(m *Module) uint64 {
		if tails, ok := m.Calls.(TailCalls); ok && !tails.EndsInTailCall(start-m.Bias) {
			return 1
		}
		return 0
	}) == 0
}

// functionAt returns the start of the function at pc, or noFunction.
func (s *Space) functionAt(pc Addr) Addr {
	return s.cached(kindFunction, pc, func(m *Module) uint64 {
		if start, known := m.Calls.FuncStart(pc - m.Bias); known {
			return start + m.Bias
		}
		return noFunction
	})
}

// switchesStack reports whether the code at pc has loaded another stack's pointer, as gcc's __morestack. afterCall
// means that pc is a return address.
func (s *Space) switchesStack(pc Addr, afterCall bool) bool {
	return s.cached(kindSwitch|afterCallKind(afterCall), pc, func(m *Module) uint64 {
		if switches, ok := m.Calls.(StackSwitches); ok && switches.SwitchesStack(pc-m.Bias, afterCall) {
			return 1
		}
		return 0
	}) != 0
}

// isReturnAddressOf reports whether v follows a call that can have led to the callee. A direct call must be of the
// callee, or, if that is unknown, of a function that may end in a tail call.
func (s *Space) isReturnAddressOf(v Addr, callee Addr) bool {
	if v < minCodeAddr {
		return false
	}
	to, ok := s.callBefore(v)
	switch {
	case !ok:
		return false
	case to == noFunction:
		return true
	case callee != noFunction:
		return to == callee
	}
	return s.mayTailCall(to) // a function without jumps out cannot have led to code of unknown bounds
}

// MayHaveCalled reports whether ra follows a call that can have led to the function at pc, also by a tail call.
func (s *Space) MayHaveCalled(ra, pc Addr) bool {
	return s.callFitOf(ra, s.functionAt(pc)) >= fitTailCall
}

// InOneFunction reports whether no function is known to begin between two addresses.
func (s *Space) InOneFunction(a, b Addr) bool { return s.functionAt(a) == s.functionAt(b) }

func (m *Module) isUnread() bool { return m != nil && m.Calls == nil && !m.Generated }

func (s *Space) isGenerated(v Addr) bool {
	m := s.ModuleAt(v)
	return m != nil && m.Generated
}
