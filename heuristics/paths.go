// SPDX-License-Identifier: Apache-2.0

package heuristics

const visitBits = 15

type visitedInst struct {
	pc  uint64
	gen uint32 // empty if not visitedSet.gen
	sp  uint32 // spKey (prologueSearch.visit)
}

type visitedSet struct {
	entries [1 << visitBits]visitedInst
	gen     uint32
}

func (s *visitedSet) clear() {
	s.gen++
	if s.gen == 0 {
		clear(s.entries[:])
		s.gen = 1
	}
}

// entry returns the entry of pc, empty or not. Those of instructions within 64 bytes are adjacent.
func (s *visitedSet) entry(pc uint64) *visitedInst {
	i := pc>>6*0x9e3779b97f4a7c15>>(64-visitBits+4)<<4 | pc>>2&15
	for s.entries[i].gen == s.gen && s.entries[i].pc != pc {
		i = (i + 1) % uint64(len(s.entries))
	}
	return &s.entries[i]
}

func (s *visitedSet) add(pc uint64) (v *visitedInst, added bool) {
	v = s.entry(pc)
	if v.gen == s.gen {
		return v, false
	}
	*v = visitedInst{pc: pc, gen: s.gen}
	return v, true
}

func (s *visitedSet) find(pc uint64) *visitedInst {
	if v := s.entry(pc); v.gen == s.gen {
		return v
	}
	return nil
}

const (
	maxPending   = 192
	maxPostponed = 48
)

type pathStack struct {
	paths   []symbolicState
	n       int
	dropped bool // for lack of room
}

func (s *pathStack) clear() { s.n, s.dropped = 0, false }

func (s *pathStack) push(st *symbolicState, pc uint64, fn span) {
	if s.n == len(s.paths) {
		s.dropped = true
		return
	}
	p := &s.paths[s.n]
	*p = *st
	p.enter(pc)
	p.function = fn
	s.n++
}

func (s *pathStack) pop(st *symbolicState) bool {
	if s.n == 0 {
		return false
	}
	s.n--
	*st = s.paths[s.n]
	return true
}

// hasOtherSP reports whether a kept path goes on at st.pc, behind a call, with another stack pointer: the call does not
// return.
func (s *pathStack) hasOtherSP(st *symbolicState) bool {
	for i := range s.n {
		if p := &s.paths[i]; p.pc == st.pc && p.regs[st.sp] != st.regs[st.sp] {
			return true
		}
	}
	return false
}

// A chunk also has the first bytes of the next one, for instructions across the border.
const (
	chunkBits = 10
	chunkSize = 1 << chunkBits
	chunkTail = 16
	numChunks = 16
)

type chunk struct {
	tag  uint64 // address + 1; 0 means an empty entry
	n    int    // bytes of code in data
	data [chunkSize + chunkTail]byte
}

type codeCache struct {
	code   Code
	chunks [numChunks]chunk
}

func (c *codeCache) reset(code Code) {
	c.code = code
	for i := range c.chunks {
		c.chunks[i].tag = 0
	}
}

func (c *codeCache) at(pc uint64) []byte {
	start := pc &^ (chunkSize - 1)
	ch := &c.chunks[pc>>chunkBits%numChunks]
	if ch.tag != start+1 {
		ch.tag = start + 1
		ch.n = c.read(start, ch.data[:])
	}
	off := int(pc - start)
	if off >= ch.n {
		if ch.n != 0 {
			return nil
		}
		ch.tag = 0 // the chunk begins before the module's code
		return ch.data[:c.read(pc, ch.data[:chunkTail])]
	}
	return ch.data[off:ch.n]
}

func (c *codeCache) read(addr uint64, buf []byte) int {
	return max(0, min(c.code.ReadCode(addr, buf), len(buf)))
}
