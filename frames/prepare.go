package frames

// prepare finds out whether the quick step can apply the rule, and what it then needs.
func (s *Space) prepare(e *entry) {
	info := s.Arch.info()
	e.exact = e.exact || e.rule.Flags&FlagSignal != 0
	if e.key>>3 != 0 && e.mod >= 0 { // a return address of 0 ends the stack, and so does one where no code is
		e.has = trustCFI
	}
	if !info.raOnStack || e.rule.Flags&^FlagLoss != 0 {
		s.prepareRow(e)
		return
	}
	e.known, e.keeps = 1<<info.sp, uint16(info.kept)
	n := 0
	for i, units := range e.rule.Saved[:len(e.load)] {
		reg := info.compact[i]
		switch {
		case units > windowUnits:
			return
		case units != 0:
			e.load[n] = load{reg, windowUnits - units}
			e.known |= 1 << reg
			n++
		case e.rule.loses(i):
			e.keeps &^= 1 << reg
		}
	}
	e.many = n > len(e.load)/2
	for ; n < len(e.load); n++ {
		e.load[n] = load{info.ra, windowUnits - 1}
	}
	e.needs = trustCFI
	if e.rule.Method != MethodCFI {
		e.needs = trustCalled
		if m := s.module(e.mod); m != nil && m.Generated {
			e.needs |= trustGenerated
		}
	}
}

// vouch notes in a caller's entry why its address can be believed without call frame information.
func (s *Space) vouch(e *entry, pc Addr) {
	if e.exact || s.follows(pc) {
		e.has |= trustCalled
	}
	if m := s.Find(pc); m != nil && m.Generated {
		e.has |= trustGenerated
	}
}

// usedSets lists the sets of the cache that hold anything, so that dropping the rules costs what there
// is to drop and leaves the processor's caches alone.
type usedSets struct {
	list [256]uint16
	n    int // more than the list holds: all may be used
}

func (u *usedSets) add(set uint16) {
	if u.n < len(u.list) {
		u.list[u.n] = set
	}
	u.n++
}

// clear empties the cache.
func (u *usedSets) clear(cache *[numSlots]entry) {
	if u.n > len(u.list) {
		clear(cache[:])
	} else {
		for _, set := range u.list[:u.n] {
			clear(cache[int(set)*cacheWays:][:cacheWays])
		}
	}
	u.n = 0
}
