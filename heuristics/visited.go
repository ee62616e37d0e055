package heuristics

// visitBits sizes the set of visited instructions; more than maxSteps, so that it is never full.
const visitBits = 15

// visit is an entry of the set; it counts in its generation only.
type visit struct {
	pc  uint64
	gen uint32
	sp  uint32 // what the stack pointer was there, see arrive
}

// visitedSet is the set of the instructions that an analysis has visited, a hash table with linear probing.
type visitedSet struct {
	entries [1 << visitBits]visit
	gen     uint32
}

// clear empties the set.
func (s *visitedSet) clear() {
	s.gen++
	if s.gen == 0 {
		clear(s.entries[:])
		s.gen = 1
	}
}

// place gives where to look for an instruction. Those of the same 64 bytes lie together, so that a hundred instructions
// in a row touch few cache lines.
func (s *visitedSet) place(pc uint64) uint64 {
	return pc>>6*0x9e3779b97f4a7c15>>(64-visitBits+4)<<4 | pc>>2&15
}

// add puts an instruction into the set; false if it is there already.
func (s *visitedSet) add(pc uint64) bool {
	i := s.place(pc)
	for {
		v := &s.entries[i]
		if v.gen != s.gen {
			*v = visit{pc: pc, gen: s.gen}
			return true
		}
		if v.pc == pc {
			return false
		}
		i = (i + 1) % uint64(len(s.entries))
	}
}

// find gives an instruction's entry, nil if it is not there.
func (s *visitedSet) find(pc uint64) *visit {
	i := s.place(pc)
	for s.entries[i].gen == s.gen {
		if s.entries[i].pc == pc {
			return &s.entries[i]
		}
		i = (i + 1) % uint64(len(s.entries))
	}
	return nil
}
