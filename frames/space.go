package frames

import "slices"

// The rule cache: 1,024 sets of 4 entries hold the working set of a busy server's
// stacks. With fewer entries in a set, some of a few hundred addresses would push each
// other out all the time.
const (
	cacheBits = 10
	cacheWays = 4
	numSlots  = cacheWays << cacheBits
)

// maxRows bounds the table of rules that do not fit into 16 bytes; when it is
// full the cache starts anew, so that no input makes it grow without end.
const maxRows = 1 << 14

// Space is the executable part of an address space: its modules, and the rules
// found so far. It is not safe for use by several goroutines at once.
type Space struct {
	// cache comes first: it then begins with a cache line of the processor, as all large
	// objects do, and no entry lies across two.
	cache   [numSlots]entry
	used    usedSets
	Arch    Arch
	modules []*Module
	bounds  []bounds // of the modules; together they take few cache lines
	rows    []storedRow
	calls   [1 << callBits]callEntry
	starts  [1 << startBits]startEntry
	jumps   [1 << startBits]jumpEntry
	asked   bool // any of the last three has an entry
}

// entry is a cached rule, with the module that its pc is in and what the quick step
// needs to know of it: one cache line.
type entry struct {
	key  uint64
	rule Rule
	mod  int32 // index into Space.modules; -1: none
	// next is the slot of the entry that the last step from here led to. Most frames of
	// a program have one caller. The quick step looks there first, so that the processor
	// goes on with the caller's rule while it still waits for the return address
	// and for its hash.
	next uint16
	// exact: nobody calls what begins there, so that even a return address is
	// the address of an instruction: a signal trampoline, or the start of a
	// stack that was prepared by hand.
	exact bool
	needs trust   // what the caller's address must have; 0: the quick step is not for this rule
	has   trust   // what this address has, as far as it was asked
	load  [6]load // what to restore
	many  bool    // more than three of it
	keeps uint16  // registers that stay known
	known uint16  // registers that become known: those restored, and the stack pointer
	byRow bool    // stepByRow can apply the rule
	kept  keptPlaces
	// changes is asked for large frames only.
	changes changes
	_       [9]byte
}

// trust is a set of reasons to believe a return address.
type trust uint8

const (
	trustCFI       trust = 1 << iota // call frame information led there; every address has it
	trustCalled                      // it follows a call, or is a place that is returned to without one
	trustGenerated                   // it is in generated code, where callers need not call
)

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

// NewSpace gives a space without modules.
func NewSpace(arch Arch) *Space { return &Space{Arch: arch} }

// SetModules replaces the modules; they are sorted by address, and where two
// overlap the one that starts later wins. The rules found so far are dropped.
func (s *Space) SetModules(mods []*Module) {
	s.modules = slices.Clone(mods)
	slices.SortStableFunc(s.modules, func(a, b *Module) int {
		switch {
		case a.Start < b.Start:
			return -1
		case a.Start > b.Start:
			return 1
		}
		return 0
	})
	s.bounds = s.bounds[:0]
	for _, m := range s.modules {
		s.bounds = append(s.bounds, bounds{m.Start, m.End})
	}
	s.Forget()
}

// bounds are the addresses of a module, end excluded.
type bounds struct{ start, end Addr }

// Modules gives the modules in order of their addresses. The caller must not
// change the slice.
func (s *Space) Modules() []*Module { return s.modules }

// Forget drops all cached rules.
func (s *Space) Forget() {
	s.rows = s.rows[:0]
	s.used.clear(&s.cache)
	if s.asked { // else they are empty, and 80 KB less are written
		clear(s.calls[:])
		clear(s.starts[:])
		clear(s.jumps[:])
		s.asked = false
	}
}

// Find gives the module that pc lies in, nil if none.
func (s *Space) Find(pc Addr) *Module {
	if i := s.find(pc); i >= 0 {
		return s.modules[i]
	}
	return nil
}

// find gives the index of the module that pc lies in, -1 if none.
func (s *Space) find(pc Addr) int32 {
	lo, hi := 0, len(s.bounds)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if s.bounds[mid].start <= pc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || pc >= s.bounds[lo-1].end {
		return -1
	}
	return int32(lo - 1)
}

// cacheKey combines what a rule depends on; bit 0 of it is always set, so that no
// key is zero.
func cacheKey(pc Addr, caller, spOnly bool) uint64 {
	k := pc<<3 | 1
	if caller {
		k |= 2
	}
	if spOnly {
		k |= 4
	}
	return k
}

// hash spreads keys over a cache of 1<<bits places (Fibonacci hashing).
func hash(k uint64, bits uint) uint64 { return k * 0x9e3779b97f4a7c15 >> (64 - bits) }

// slot gives the slot of a key, numSlots if it is not in the cache.
func (s *Space) slot(k uint64) int {
	first := int(hash(k, cacheBits)) * cacheWays
	for i := range cacheWays {
		if s.cache[first+i].key == k {
			return first + i
		}
	}
	return numSlots
}

// lookup gives the cached rule for a pc, asking the sources if need be. The result
// is valid until the next call.
func (s *Space) lookup(pc Addr, caller, spOnly bool) *entry {
	k := cacheKey(pc, caller, spOnly)
	i := s.slot(k)
	if i == numSlots {
		i = s.miss(k, pc, caller, spOnly)
	}
	return &s.cache[i]
}

// miss finds a rule that is not cached, and gives its slot. In a set that is full the oldest entry
// makes room.
func (s *Space) miss(k uint64, pc Addr, caller, spOnly bool) int {
	number := hash(k, cacheBits)
	s.used.add(uint16(number))
	i := int(number) * cacheWays
	set := s.cache[i : i+cacheWays]
	at := 0
	for at < cacheWays && set[at].key != 0 {
		at++
	}
	if at == cacheWays {
		copy(set, set[1:])
		at = cacheWays - 1
	}
	s.fill(&set[at], k, pc, caller, spOnly)
	s.prepare(&set[at])
	return i + at
}

// module gives the module of that index, nil for -1.
func (s *Space) module(i int32) *Module {
	if uint(i) < uint(len(s.modules)) {
		return s.modules[i]
	}
	return nil
}

// fill asks the module's sources in turn.
func (s *Space) fill(e *entry, k uint64, pc Addr, caller, spOnly bool) {
	*e = entry{key: k, mod: -1, rule: Rule{Flags: FlagNone}}
	at := pc
	if caller {
		at -= s.Arch.CallLen()
	}
	if e.mod = s.find(at); e.mod < 0 {
		if caller {
			s.atEntry(e, pc, spOnly) // the first instruction of a mapping
		}
		return
	}
	if found := s.ask(e, pc, caller, spOnly); caller && (!found || e.rule.Method != MethodCFI) {
		s.atEntry(e, pc, spOnly)
	}
}

// atEntry is for a return address that no table knows and that follows no call. If
// it is a function's first instruction, then the stack was prepared by hand, as by
// makecontext, and its outermost frame is what its first function returns to: whatever
// is above has not called it (glibc's call frame information for __start_context says
// otherwise). A signal trampoline can be such a place, too.
func (s *Space) atEntry(e *entry, pc Addr, spOnly bool) {
	i := s.find(pc)
	if i < 0 {
		return
	}
	m := s.modules[i]
	if m.Generated || m.Calls == nil {
		return
	}
	if start, ok := m.Calls.FuncStart(pc - m.Bias); !ok || start != pc-m.Bias {
		return
	}
	if _, called := s.callBefore(pc); called {
		return
	}
	e.mod, e.exact = i, true
	if !s.ask(e, pc, false, spOnly) || e.rule.Flags&FlagSignal == 0 {
		e.rule = Rule{Flags: FlagRoot, Method: MethodHeuristic}
	}
}

// ask puts the first rule that a source of e.mod has into e.
func (s *Space) ask(e *entry, pc Addr, caller, spOnly bool) bool {
	mod := s.modules[e.mod]
	q := Query{PC: pc - mod.Bias, Caller: caller, SPOnly: spOnly}
	for _, src := range mod.Sources {
		r, row, ok := src.Rule(q)
		if !ok || spOnly && !s.spRelative(r, row) {
			continue
		}
		if row != nil && !row.compactLoss(s.Arch, &r) {
			if len(s.rows) >= maxRows {
				keep := entry{key: e.key, mod: e.mod, exact: e.exact}
				s.Forget()
				*e = keep
			}
			s.rows = append(s.rows, storedRow{row, row.changed()})
			r.setRow(uint32(len(s.rows) - 1))
		}
		e.rule = r
		return true
	}
	return false
}

// spRelative reports whether a rule can be applied with only sp and pc known.
func (s *Space) spRelative(r Rule, row *Row) bool {
	if r.Flags&FlagRoot != 0 {
		return true
	}
	sp := s.Arch.SP()
	if row != nil {
		return row.CFAExpr != nil || row.CFAReg == sp
	}
	return r.CFAReg == sp
}

// callBefore reports whether a call instruction ends at ret, and what it calls
// as a run-time address.
func (s *Space) callBefore(ret Addr) (Call, bool) {
	e := &s.calls[hash(ret, callBits)]
	if e.ret != ret {
		*e, s.asked = callEntry{ret: ret}, true
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
	e := &s.jumps[hash(start, startBits)]
	if e.start == start && e.valid {
		return e.leaves
	}
	*e, s.asked = jumpEntry{start: start, leaves: true, valid: true}, true
	if m := s.Find(start); m != nil {
		if j, ok := m.Calls.(Jumps); ok {
			e.leaves = j.LeavesByJump(start - m.Bias)
		}
	}
	return e.leaves
}

// funcStart gives the run-time address of the function that pc is in.
func (s *Space) funcStart(pc Addr) (Addr, bool) {
	e := &s.starts[hash(pc, startBits)]
	if e.pc == pc && e.valid {
		return e.start, e.ok
	}
	*e, s.asked = startEntry{pc: pc, valid: true}, true
	if m := s.Find(pc); m != nil && m.Calls != nil {
		e.start, e.ok = m.Calls.FuncStart(pc - m.Bias)
		e.start += m.Bias
	}
	return e.start, e.ok
}
