// SPDX-License-Identifier: Apache-2.0

package heuristics

import "sync"

// maxSteps bounds the instructions of one analysis. maxForward bounds those of one that goes on to a function's
// returns, from the first branch, jump or call on.
const (
	maxSteps   = 16000
	maxForward = 3000
)

// interpreter runs instructions on what is known of registers and stack (abstract interpretation): one path at a time,
// with the others waiting. The analyses share it, and what they find are values of their own. It is kept from one
// analysis to the next.
type interpreter struct {
	src   *Source
	bytes codeCache
	seen  visitedSet
	paths worklist
	st    state // of the path that is followed
	fl    flow  // of the last instruction: of its own it would be allocated for each
	steps int
}

var interpreters = sync.Pool{New: func() any { return new(interpreter) }}

// getInterpreter takes one from the pool, without any code in it.
func getInterpreter(s *Source) *interpreter {
	w := interpreters.Get().(*interpreter)
	w.src = s
	w.bytes.reset(s.o.Code)
	return w
}

func putInterpreter(w *interpreter) {
	w.src = nil
	w.bytes.code = nil
	interpreters.Put(w)
}

// begin starts with one path.
func (w *interpreter) begin(pc, lo, hi uint64) {
	w.seen.clear()
	w.steps = 0
	w.paths.clear()
	w.st.reset(w.src.abi, pc, lo, hi)
}

// code gives the bytes at pc: those of one instruction at least, where there are that many.
func (w *interpreter) code(pc uint64) []byte { return w.bytes.at(pc) }

// mark notes that an instruction is visited; false if it was already.
func (w *interpreter) mark(pc uint64) bool { return w.seen.add(pc) }

// straight interprets the instruction at w.st and goes on behind it; false if the path ends there.
func (w *interpreter) straight() bool {
	code := w.code(w.st.pc)
	if len(code) == 0 {
		return false
	}
	w.src.abi.step(&w.st, code, &w.fl)
	w.st.pc += uint64(w.fl.size)
	return w.fl.kind == flowNext || w.fl.kind == flowCond || w.fl.kind == flowCall
}

// push remembers a path to be followed, unless one has been there.
func (w *interpreter) push(pc uint64) {
	if w.seen.find(pc) == nil {
		w.paths.push(&w.st, pc)
	}
}

// postpone remembers a path that has left the function, unless one has been there.
func (w *interpreter) postpone(pc, lo, hi uint64) {
	if w.seen.find(pc) == nil {
		w.paths.postpone(&w.st, pc, lo, hi)
	}
}

// pop goes on with the path that was pushed last.
func (w *interpreter) pop() bool { return w.paths.pop(&w.st) }

// resume goes on with the path that was postponed last; used where no path inside of the function proved anything.
func (w *interpreter) resume() bool { return w.paths.resume(&w.st) }

// The code is read in pieces of chunkSize bytes; each is held with the first bytes of the next one, so that no
// instruction is cut.
const (
	chunkBits = 10
	chunkSize = 1 << chunkBits
	chunkTail = 16
	numChunks = 16
)

// chunk is a piece of code.
type chunk struct {
	tag  uint64 // address, plus one: zero is none
	n    int
	data [chunkSize + chunkTail]byte
}

// codeCache holds the pieces of a module's code that an analysis reads.
type codeCache struct {
	code   Code
	chunks [numChunks]chunk
}

// reset forgets all pieces.
func (c *codeCache) reset(code Code) {
	c.code = code
	for i := range c.chunks {
		c.chunks[i].tag = 0
	}
}

// at gives the bytes at pc: those of one instruction at least, where there are that many.
func (c *codeCache) at(pc uint64) []byte {
	at := pc &^ (chunkSize - 1)
	k := &c.chunks[pc>>chunkBits%numChunks]
	if k.tag != at+1 {
		k.tag = at + 1
		k.n = c.read(at, k.data[:])
	}
	off := int(pc - at)
	if off >= k.n {
		return c.direct(pc, k)
	}
	return k.data[off:k.n]
}

// direct reads code whose chunk does not begin where the code does, which is so at the first bytes of a module.
func (c *codeCache) direct(pc uint64, k *chunk) []byte {
	if k.n != 0 {
		return nil
	}
	k.tag = 0
	return k.data[:c.read(pc, k.data[:chunkTail])]
}

// read calls the module's Code and distrusts its result.
func (c *codeCache) read(addr uint64, buf []byte) int {
	return max(0, min(c.code.ReadCode(addr, buf), len(buf)))
}

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

// slot gives where to look for an instruction. Those of the same 64 bytes lie together, so that a hundred instructions
// in a row touch few cache lines.
func (s *visitedSet) slot(pc uint64) uint64 {
	return pc>>6*0x9e3779b97f4a7c15>>(64-visitBits+4)<<4 | pc>>2&15
}

// add puts an instruction into the set; false if it is there already.
func (s *visitedSet) add(pc uint64) bool {
	i := s.slot(pc)
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
	i := s.slot(pc)
	for s.entries[i].gen == s.gen {
		if s.entries[i].pc == pc {
			return &s.entries[i]
		}
		i = (i + 1) % uint64(len(s.entries))
	}
	return nil
}

// maxPending bounds the paths that wait.
const maxPending = 192

// worklist holds the paths that are to be followed yet.
type worklist struct {
	pending  [maxPending]state
	npending int
	later    [maxPending / 4]state // paths that have left the function
	nlater   int
	dropped  bool // there was no room for some
}

func (l *worklist) clear() { l.npending, l.nlater, l.dropped = 0, 0, false }

// push adds a path that goes on at pc; beyond the limit it is dropped.
func (l *worklist) push(st *state, pc uint64) {
	if l.npending == len(l.pending) {
		l.dropped = true
		return
	}
	p := &l.pending[l.npending]
	p.take(st)
	p.enter(pc)
	l.npending++
}

// postpone adds a path that goes on in another function.
func (l *worklist) postpone(st *state, pc, lo, hi uint64) {
	if l.nlater == len(l.later) {
		return
	}
	p := &l.later[l.nlater]
	p.take(st)
	p.enter(pc)
	p.lo, p.hi = lo, hi
	l.nlater++
}

// pop takes the path that was pushed last.
func (l *worklist) pop(st *state) bool {
	if l.npending == 0 {
		return false
	}
	l.npending--
	st.take(&l.pending[l.npending])
	return true
}

// resume takes the path that was postponed last.
func (l *worklist) resume(st *state) bool {
	if l.nlater == 0 {
		return false
	}
	l.nlater--
	st.take(&l.later[l.nlater])
	return true
}

// otherwise reports whether the instruction after a call is going to be reached by a jump with another stack pointer:
// then the call does not return.
func (l *worklist) otherwise(st *state) bool {
	for i := range l.npending {
		if p := &l.pending[i]; p.pc == st.pc && p.regs[st.sp] != st.regs[st.sp] {
			return true
		}
	}
	return false
}

// enter goes on elsewhere.
func (st *state) enter(pc uint64) {
	st.pc, st.cmpReg = pc, noReg
	st.afterCall, st.padded, st.pushedMem = false, false, false
}
