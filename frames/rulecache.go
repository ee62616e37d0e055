// SPDX-License-Identifier: Apache-2.0

package frames

// The rule cache: 1,024 sets of 4 entries hold the working set of a busy server's
// stacks. With fewer entries in a set, some of a few hundred addresses would push each
// other out all the time.
const (
	cacheBits = 10
	cacheWays = 4
	numSlots  = cacheWays << cacheBits
)

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
	// exact: nobody calls what begins there, so that even a return address is the address of an instruction. That is a
	// signal trampoline, or the start of a stack that was prepared by hand.
	exact bool
	needs trust   // what the caller's address must have; 0: the quick step is not for this rule
	has   trust   // what this address has, as far as it was asked
	load  [6]load // what to restore
	many  bool    // more than three of it
	keeps uint16  // registers that stay known
	known uint16  // registers that become known: those restored, and the stack pointer
	// changes is asked for large frames only.
	changes changes
	_       [13]byte
}

// trust is a set of reasons to believe a return address.
type trust uint8

const (
	trustCFI       trust = 1 << iota // call frame information led there; every address has it
	trustCalled                      // it follows a call, or is a place that is returned to without one
	trustGenerated                   // it is in generated code, where callers need not call
)

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
