// SPDX-License-Identifier: Apache-2.0

package heuristics

import "sync"

// Bounds of one analysis, in instructions; maxForward from the first branch, jump or call on.
const (
	maxSteps   = 16000
	maxForward = 3000
)

// interpreter runs instructions on symbolic registers and stack, one path at a time. It is pooled.
type interpreter struct {
	src      *Source
	bytes    codeCache
	visited  visitedSet
	paths    worklist
	st       symbolicState // current path
	lastFlow flow          // last instruction
	steps    int
}

var interpreters = sync.Pool{New: func() any { return new(interpreter) }}

func getInterpreter(s *Source) *interpreter {
	w := interpreters.Get().(*interpreter)
	w.src = s
	w.bytes.reset(s.opt.Code)
	return w
}

func putInterpreter(w *interpreter) {
	w.src = nil
	w.bytes.code = nil
	interpreters.Put(w)
}

func (w *interpreter) begin(pc, lo, hi uint64) {
	w.visited.clear()
	w.steps = 0
	w.paths.clear()
	w.st.reset(w.src.abi, pc, lo, hi)
}

func (w *interpreter) code(pc uint64) []byte { return w.bytes.at(pc) }

// markVisited returns false if the instruction was visited before.
func (w *interpreter) markVisited(pc uint64) bool { return w.visited.add(pc) }

// exec interprets an instruction at w.st, without moving on. The result is valid until the next.
func (w *interpreter) exec(code []byte) *flow {
	w.src.abi.step(&w.st, code, &w.lastFlow)
	return &w.lastFlow
}

// stepStraight interprets the instruction at w.st; false if the path ends there.
func (w *interpreter) stepStraight() bool {
	code := w.code(w.st.pc)
	if len(code) == 0 {
		return false
	}
	w.exec(code)
	w.st.pc += uint64(w.lastFlow.size)
	return w.lastFlow.kind == flowNext || w.lastFlow.kind == flowCond || w.lastFlow.kind == flowCall
}

func (w *interpreter) push(pc uint64) {
	if w.visited.find(pc) == nil {
		w.paths.push(&w.st, pc)
	}
}

// postpone adds a path that has left the function, unless pc was visited.
func (w *interpreter) postpone(pc, lo, hi uint64) {
	if w.visited.find(pc) == nil {
		w.paths.postpone(&w.st, pc, lo, hi)
	}
}

func (w *interpreter) pop() bool { return w.paths.pop(&w.st) }

// resume goes on with the path postponed last, where no path within the function proved anything.
func (w *interpreter) resume() bool { return w.paths.resume(&w.st) }

// Chunks of code have the first bytes of the next, so that no instruction is cut.
const (
	chunkBits = 10
	chunkSize = 1 << chunkBits
	chunkTail = 16
	numChunks = 16
)

type chunk struct {
	tag  uint64 // address + 1; 0: empty
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

// at returns the bytes at pc: a whole instruction at least, if there is one.
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

// direct reads code whose chunk would begin before the module.
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

// visit is a visited instruction of its generation.
type visit struct {
	pc  uint64
	gen uint32
	sp  uint32 // key of the stack pointer (prologueAnalysis.visit)
}

// visitedSet is a hash table with linear probing.
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

// slot keeps the instructions of 64 bytes adjacent.
func (s *visitedSet) slot(pc uint64) uint64 {
	return pc>>6*0x9e3779b97f4a7c15>>(64-visitBits+4)<<4 | pc>>2&15
}

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

type worklist struct {
	pending    [maxPending]symbolicState
	npending   int
	postponed  [maxPending / 4]symbolicState // have left the function
	npostponed int
	dropped    bool // paths were dropped for lack of room
}

func (l *worklist) clear() { l.npending, l.npostponed, l.dropped = 0, 0, false }

func (l *worklist) push(st *symbolicState, pc uint64) {
	if l.npending == len(l.pending) {
		l.dropped = true
		return
	}
	p := &l.pending[l.npending]
	p.copyFrom(st)
	p.enter(pc)
	l.npending++
}

func (l *worklist) postpone(st *symbolicState, pc, lo, hi uint64) {
	if l.npostponed == len(l.postponed) {
		return
	}
	p := &l.postponed[l.npostponed]
	p.copyFrom(st)
	p.enter(pc)
	p.lo, p.hi = lo, hi
	l.npostponed++
}

func (l *worklist) pop(st *symbolicState) bool {
	if l.npending == 0 {
		return false
	}
	l.npending--
	st.copyFrom(&l.pending[l.npending])
	return true
}

func (l *worklist) resume(st *symbolicState) bool {
	if l.npostponed == 0 {
		return false
	}
	l.npostponed--
	st.copyFrom(&l.postponed[l.npostponed])
	return true
}

// hasOtherSP reports whether a pending path jumps behind the call at st.pc with another stack pointer: the call does
// not return.
func (l *worklist) hasOtherSP(st *symbolicState) bool {
	for i := range l.npending {
		if p := &l.pending[i]; p.pc == st.pc && p.regs[st.sp] != st.regs[st.sp] {
			return true
		}
	}
	return false
}

func (st *symbolicState) enter(pc uint64) {
	st.pc, st.cmpReg = pc, noReg
	st.afterCall, st.padded, st.pushedMem = false, false, false
}
