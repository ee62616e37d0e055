package frames

import "slices"

// cacheBits sizes the rule cache: 2,048 entries of 56 bytes hold the working set
// of a busy server's stacks.
const cacheBits = 11

// maxRows bounds the table of rules that do not fit into 16 bytes; when it is
// full the cache starts anew, so that no input makes it grow without end.
const maxRows = 1 << 14

// Space is the executable part of an address space: its modules, and the rules
// found so far. It is not safe for use by several goroutines at once.
type Space struct {
	Arch    Arch
	modules []*Module
	rows    []*Row
	cache   [1 << cacheBits]entry
	calls   [1 << cacheBits]callEntry
}

// entry is a cached rule, with the module that its pc is in and what the quick step
// needs to know of it.
type entry struct {
	key   uint64
	mod   *Module
	rule  Rule
	known uint64 // registers that the rule restores, and the stack pointer
	deep  uint64 // how far below the CFA it reads, in bytes
	quick bool   // nothing special about it: see Walker.quick
}

// callEntry caches whether a call precedes an address.
type callEntry struct {
	ret  Addr
	call Call
	ok   bool
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
	s.Forget()
}

// Modules gives the modules in order of their addresses. The caller must not
// change the slice.
func (s *Space) Modules() []*Module { return s.modules }

// Forget drops all cached rules.
func (s *Space) Forget() {
	s.rows = s.rows[:0]
	clear(s.cache[:])
	clear(s.calls[:])
}

// Find gives the module that pc lies in, nil if none.
func (s *Space) Find(pc Addr) *Module {
	lo, hi := 0, len(s.modules)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if s.modules[mid].Start <= pc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || pc >= s.modules[lo-1].End {
		return nil
	}
	return s.modules[lo-1]
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

// hash spreads keys over the cache (Fibonacci hashing).
func hash(k uint64) uint64 { return k * 0x9e3779b97f4a7c15 >> (64 - cacheBits) }

// lookup gives the cached rule for a pc, asking the sources if need be. The result
// is valid until the next call.
func (s *Space) lookup(pc Addr, caller, spOnly bool) *entry {
	k := cacheKey(pc, caller, spOnly)
	e := &s.cache[hash(k)]
	if e.key != k {
		s.fill(e, k, pc, caller, spOnly)
		e.prepare(s.Arch)
	}
	return e
}

// prepare finds out whether the quick step can apply the rule.
func (e *entry) prepare(arch Arch) {
	info := arch.info()
	e.known, e.deep = 1<<info.sp, 8
	for i, units := range e.rule.Saved {
		if units != 0 && info.compact[i] != NoReg {
			e.known |= 1 << info.compact[i]
			e.deep = max(e.deep, 8*uint64(units))
		}
	}
	e.quick = info.raOnStack && e.rule.Flags == 0 && e.rule.Method == MethodCFI
}

// fill asks the module's sources in turn.
func (s *Space) fill(e *entry, k uint64, pc Addr, caller, spOnly bool) {
	*e = entry{key: k, rule: Rule{Flags: FlagNone}}
	at := pc
	if caller {
		at -= s.Arch.CallLen()
	}
	if e.mod = s.Find(at); e.mod == nil {
		return
	}
	q := Query{PC: pc - e.mod.Bias, Caller: caller, SPOnly: spOnly}
	for _, src := range e.mod.Sources {
		r, row, ok := src.Rule(q)
		if !ok || spOnly && !s.spRelative(r, row) {
			continue
		}
		if row != nil {
			if len(s.rows) >= maxRows {
				s.Forget()
				mod := s.Find(at)
				*e = entry{key: k, mod: mod}
			}
			s.rows = append(s.rows, row)
			r.setRow(uint32(len(s.rows) - 1))
		}
		e.rule = r
		return
	}
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
	e := &s.calls[hash(ret)]
	if e.ret != ret {
		*e = callEntry{ret: ret}
		if m := s.Find(ret - 1); m != nil && m.Calls != nil {
			e.call, e.ok = m.Calls.CallBefore(ret - m.Bias)
			e.call.Target += m.Bias
		}
	}
	return e.call, e.ok
}

// funcStart gives the run-time address of the function that pc is in.
func (s *Space) funcStart(pc Addr) (Addr, bool) {
	m := s.Find(pc)
	if m == nil || m.Calls == nil {
		return 0, false
	}
	start, ok := m.Calls.FuncStart(pc - m.Bias)
	return start + m.Bias, ok
}
