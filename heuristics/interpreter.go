// SPDX-License-Identifier: Apache-2.0

package heuristics

import "sync"

// Bounds of one analysis in instructions; of a forward one, from the first branch, jump or call on.
const (
	maxSteps   = 16000
	maxForward = 3000
)

// interpreter runs instructions on symbolic registers and stack (abstract interpretation), one path at a time. Analyses
// share it; it is kept from one to the next.
type interpreter struct {
	src   *Source
	bytes codeCache
	seen  visitedSet
	paths worklist
	st    state // of the current path
	fl    flow  // of the last instruction
	steps int
}

var interpreters = sync.Pool{New: func() any { return new(interpreter) }}

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

func (w *interpreter) begin(pc, lo, hi uint64) {
	w.seen.clear()
	w.steps = 0
	w.paths.clear()
	w.st.reset(w.src.abi, pc, lo, hi)
}

// code gives the bytes at pc: at least one instruction's, if there.
func (w *interpreter) code(pc uint64) []byte { return w.bytes.at(pc) }

// mark notes a visited instruction; false if it was visited before.
func (w *interpreter) mark(pc uint64) bool { return w.seen.add(pc) }

// straight interprets the instruction at w.st; false if the path ends there.
func (w *interpreter) straight() bool {
	code := w.code(w.st.pc)
	if len(code) == 0 {
		return false
	}
	w.src.abi.step(&w.st, code, &w.fl)
	w.st.pc += uint64(w.fl.size)
	return w.fl.kind == flowNext || w.fl.kind == flowCond || w.fl.kind == flowCall
}

func (w *interpreter) push(pc uint64) {
	if w.seen.find(pc) == nil {
		w.paths.push(&w.st, pc)
	}
}

// postpone adds a path that has left the function, unless pc was visited.
func (w *interpreter) postpone(pc, lo, hi uint64) {
	if w.seen.find(pc) == nil {
		w.paths.postpone(&w.st, pc, lo, hi)
	}
}

func (w *interpreter) pop() bool { return w.paths.pop(&w.st) }

// resume goes on with the path postponed last, where none within the function proved anything.
func (w *interpreter) resume() bool { return w.paths.resume(&w.st) }

// Code is read in chunks, each held with the next one's first bytes, so that no instruction is cut.
const (
	chunkBits = 10
	chunkSize = 1 << chunkBits
	chunkTail = 16
	numChunks = 16
)

type chunk struct {
	tag  uint64 // address + 1; 0: none
	n    int
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

// at gives the bytes at pc: at least one instruction's, if there.
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

// direct reads code whose chunk begins before the module.
func (c *codeCache) direct(pc uint64, k *chunk) []byte {
	if k.n != 0 {
		return nil
	}
	k.tag = 0
	return k.data[:c.read(pc, k.data[:chunkTail])]
}

func (c *codeCache) read(addr uint64, buf []byte) int {
	return max(0, min(c.code.ReadCode(addr, buf), len(buf)))
}

const visitBits = 15

// visit counts in its generation only.
type visit struct {
	pc  uint64
	gen uint32
	sp  uint32 // the stack pointer there, see arrive
}

// visitedSet is a hash table with linear probing of the visited instructions.
type visitedSet struct {
	entries [1 << visitBits]visit
	gen     uint32
}

func (s *visitedSet) clear() {
	s.gen++
	if s.gen == 0 {
		clear(s.entries[:])
		s.gen = 1
	}
}

// slot puts the instructions of 64 bytes next to each other, in few cache lines.
func (s *visitedSet) slot(pc uint64) uint64 {
	return pc>>6*0x9e3779b97f4a7c15>>(64-visitBits+4)<<4 | pc>>2&15
}

// add gives false if the instruction is in the set.
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

const maxPending = 192

// worklist holds the paths to follow.
type worklist struct {
	pending  [maxPending]state
	npending int
	later    [maxPending / 4]state // outside of the function
	nlater   int
	dropped  bool // some, for lack of room
}

func (l *worklist) clear() { l.npending, l.nlater, l.dropped = 0, 0, false }

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

func (l *worklist) pop(st *state) bool {
	if l.npending == 0 {
		return false
	}
	l.npending--
	st.take(&l.pending[l.npending])
	return true
}

func (l *worklist) resume(st *state) bool {
	if l.nlater == 0 {
		return false
	}
	l.nlater--
	st.take(&l.later[l.nlater])
	return true
}

// otherwise reports whether a waiting path jumps behind a call with another stack pointer: the call then does not
// return.
func (l *worklist) otherwise(st *state) bool {
	for i := range l.npending {
		if p := &l.pending[i]; p.pc == st.pc && p.regs[st.sp] != st.regs[st.sp] {
			return true
		}
	}
	return false
}

func (st *state) enter(pc uint64) {
	st.pc, st.cmpReg = pc, noReg
	st.afterCall, st.padded, st.pushedMem = false, false, false
}
