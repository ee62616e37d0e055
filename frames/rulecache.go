// SPDX-License-Identifier: Apache-2.0

package frames

// ruleCache maps program counters to rules, in sets whose oldest entry is replaced. It has 16 sets (4 KB) at first, and
// grows while a set is full, up to a busy server's working set (256 KB).
type ruleCache struct {
	slots []cacheEntry // aligned to cache lines, as large objects are
	bits  uint         // 1<<bits sets
	used  bool
}

const (
	minBits  = 4 // first ruleCache.bits
	maxBits  = 10
	growBits = 2
	setSize  = 4
)

func newRuleCache(bits uint) ruleCache {
	return ruleCache{slots: make([]cacheEntry, setSize<<bits), bits: bits}
}

// cacheEntry is a cached rule with what the quick step needs, in one cache line.
type cacheEntry struct {
	key  uint64
	rule Rule
	mod  int32 // index into Space.modules, or -1
	// exact: pc is the address of an instruction even as a return address: a signal trampoline, or the start of a stack
	// prepared by hand.
	exact bool
	// confidence is of the address as a return address; the rule requires requiredConfidence of the one that it gives.
	confidence, requiredConfidence confidence
	stackSwitch                    stackSwitch
	quick                          quickRule
	_                              [12]byte
}

// confidence is a reason to believe a return address, in rising order.
type confidence uint8

const (
	confidenceNone      confidence = iota // in no code, or the first instruction of a stack
	confidenceCode                        // in a module: enough for call frame information
	confidenceGenerated                   // in generated code, whose callers need not call
	confidenceCall                        // follows a call, or is returned to without one
)

// cacheKey sets bit 0, so that no key is zero.
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

// hash is Fibonacci hashing to 1<<bits places.
func hash(k uint64, bits uint) uint64 { return k * 0x9e3779b97f4a7c15 >> (64 - bits) }

func (c *ruleCache) get(k uint64) *cacheEntry {
	first := int(hash(k, c.bits)) * setSize
	for i := range setSize {
		if e := &c.slots[first+i]; e.key == k {
			return e
		}
	}
	return nil
}

func (c *ruleCache) add(k uint64) *cacheEntry {
	c.used = true
	for c.set(k)[setSize-1].key != 0 && c.bits < maxBits {
		c.grow()
	}
	return c.push(k)
}

// set returns the entries of a key's set, the newest first.
func (c *ruleCache) set(k uint64) []cacheEntry {
	return c.slots[int(hash(k, c.bits))*setSize:][:setSize]
}

func (c *ruleCache) push(k uint64) *cacheEntry {
	set := c.set(k)
	copy(set[1:], set)
	set[0] = cacheEntry{key: k}
	return &set[0]
}

// grow makes the table four times as large. A Walker may still use an old entry.
func (c *ruleCache) grow() {
	larger := newRuleCache(c.bits + growBits)
	larger.used = c.used
	for i := len(c.slots) - 1; i >= 0; i-- { // the oldest of a set first
		if e := &c.slots[i]; e.key != 0 {
			*larger.push(e.key) = *e
		}
	}
	*c = larger
}

// clear leaves an unused table untouched memory.
func (c *ruleCache) clear() {
	if c.used {
		clear(c.slots)
		c.used = false
	}
}

// maxRows bounds the Rows; beyond it all rules are dropped.
const maxRows = 1 << 14

// lookup returns the rule for a pc, from the cache or the sources, valid until the next call. With spOnly, only rules
// relative to the stack pointer count.
func (s *Space) lookup(pc Addr, caller, spOnly bool) *cacheEntry {
	k := cacheKey(pc, caller, spOnly)
	if e := s.cache.get(k); e != nil {
		return e
	}
	if len(s.rows) >= maxRows {
		s.Forget()
	}
	e := s.cache.add(k)
	s.fill(e, pc, caller, spOnly)
	e.exact = e.exact || e.rule.Flags&FlagSignal != 0
	if caller {
		e.confidence = s.confidenceOf(e, pc)
	}
	e.requiredConfidence = s.requiredConfidence(&e.rule, e.mod)
	e.quick = quickRuleOf(s.Arch, &e.rule)
	return e
}

func (s *Space) fill(e *cacheEntry, pc Addr, caller, spOnly bool) {
	e.mod, e.rule = -1, Rule{Flags: FlagNone}
	at := pc
	if caller {
		at -= s.Arch.CallLen()
	}
	if e.mod = s.moduleIndex(at); e.mod < 0 {
		if caller {
			s.atEntry(e, pc, spOnly) // the first instruction of a mapping
		}
		return
	}
	if found := s.fromSources(e, pc, caller, spOnly); caller && (!found || e.rule.Method != MethodCFI) {
		s.atEntry(e, pc, spOnly)
	}
}

// atEntry handles a return address that follows no call and has no call frame information. At a function's first
// instruction, or in code of [StackEnds], the stack was prepared by hand, as by makecontext, and this is its outermost
// frame (glibc's __start_context has call frame information with a caller nevertheless). A signal trampoline can be
// there, too.
func (s *Space) atEntry(e *cacheEntry, pc Addr, spOnly bool) {
	i := s.moduleIndex(pc)
	if i < 0 {
		return
	}
	m := s.modules[i]
	if m.Generated || m.Calls == nil || !m.startsFunc(pc-m.Bias) && !m.endsStack(pc-m.Bias) || s.followsCall(pc) {
		return
	}
	e.mod, e.exact = i, true
	if !s.fromSources(e, pc, false, spOnly) || e.rule.Flags&FlagSignal == 0 {
		e.rule = Rule{Flags: FlagRoot, Method: MethodHeuristic}
	}
}

func (m *Module) startsFunc(pc Addr) bool {
	start, ok := m.Calls.FuncStart(pc)
	return ok && start == pc
}

func (m *Module) endsStack(pc Addr) bool {
	e, ok := m.Calls.(StackEnds)
	return ok && e.EndsStack(pc)
}

func (s *Space) fromSources(e *cacheEntry, pc Addr, caller, spOnly bool) bool {
	mod := s.modules[e.mod]
	q := Query{PC: pc - mod.Bias, Caller: caller, SPOnly: spOnly}
	for _, src := range mod.Sources {
		r, row, ok := src.Rule(q)
		if ok && row != nil && row.RA.Kind == RuleUndefined {
			r, row = Rule{Flags: FlagRoot, Method: r.Method}, nil // DWARF 5 §6.4.4
		}
		if !ok || spOnly && !s.spRelative(r, row) {
			continue
		}
		if row != nil && !row.packWithLoss(s.Arch, &r) {
			s.rows = append(s.rows, storedRow{row, row.changed()})
			r.setRow(uint32(len(s.rows) - 1))
		}
		e.rule = r
		return true
	}
	return false
}

// spRelative reports whether sp and pc suffice for a rule.
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

// confidenceOf returns what a return address proves, before [Walker.plausible] looks at the instructions before it.
func (s *Space) confidenceOf(e *cacheEntry, pc Addr) confidence {
	switch m := s.module(e.mod); {
	case pc == 0 || m == nil:
		return confidenceNone
	case e.exact && e.rule.Flags&FlagRoot != 0:
		return confidenceNone
	case e.exact:
		return confidenceCall
	case m.Generated:
		return confidenceGenerated
	}
	return confidenceCode
}

// requiredConfidence returns the proof that a rule for code of a module requires of the return address that it gives.
func (s *Space) requiredConfidence(r *Rule, mod int32) confidence {
	if r.Method == MethodCFI {
		return confidenceCode
	}
	if m := s.module(mod); m != nil && m.Generated {
		return confidenceGenerated
	}
	return confidenceCall
}
