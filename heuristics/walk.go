package heuristics

import "sync"

// The code is read in pieces of chunkSize bytes; each is held with the first
// bytes of the next one, so that no instruction is cut.
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

// visitBits sizes the set of visited instructions; more than maxSteps, so that
// it is never full.
const visitBits = 15

// maxSteps bounds the instructions of one walk, and maxForward those of one
// walk to a function's returns.
const (
	maxSteps   = 16000
	maxForward = 3000
	maxPending = 192
)

// visit is an entry of the set; it counts in the walk of its generation only.
type visit struct {
	pc  uint64
	gen uint32
	sp  uint32 // what the stack pointer was there, see arrive
}

// walk is the working memory of an analysis, kept from one to the next.
type walk struct {
	inner    bool // what is asked for is the innermost frame
	dispatch dispatch
	src      *Source
	chunks   [numChunks]chunk
	seen     [1 << visitBits]visit
	gen      uint32
	steps    int
	st       state
	pending  [maxPending]state
	npend    int
	whole    bool                  // all paths are followed, see arrive
	dropped  bool                  // paths were left out
	moved    bool                  // on some path the stack pointer changed by an unknown amount
	spans    [2]span               // the function, and the part that was split off it
	later    [maxPending / 4]state // paths that left the function
	nlater   int
	fl       flow // of the last step: of its own it would be allocated for each
	votes    votes
	best     prologue
	proof    proof
	shown    found // what proof shows
}

var walks = sync.Pool{New: func() any { return new(walk) }}

// getWalk takes working memory from the pool, without any code in it.
func getWalk(s *Source) *walk {
	w := walks.Get().(*walk)
	w.src = s
	for i := range w.chunks {
		w.chunks[i].tag = 0
	}
	return w
}

func putWalk(w *walk) {
	w.src = nil
	walks.Put(w)
}

// begin starts a walk with one path.
func (w *walk) begin(pc, lo, hi uint64) {
	w.fresh()
	w.steps, w.npend, w.nlater = 0, 0, 0
	w.spans = [2]span{}
	w.whole, w.moved, w.dropped = false, false, false
	w.st.reset(w.src.abi, pc, lo, hi)
}

// fresh empties the set of visited instructions.
func (w *walk) fresh() {
	w.gen++
	if w.gen == 0 {
		clear(w.seen[:])
		w.gen = 1
	}
}

// visitPlace gives where to look for an instruction in the set. Those of the same 64 bytes lie together, so that
// a walk through a hundred instructions in a row touches few cache lines.
func visitPlace(pc uint64) uint64 {
	return pc>>6*0x9e3779b97f4a7c15>>(64-visitBits+4)<<4 | pc>>2&15
}

// mark puts an instruction into the set; false if it is there already.
func (w *walk) mark(pc uint64) bool {
	i := visitPlace(pc)
	for {
		v := &w.seen[i]
		if v.gen != w.gen {
			*v = visit{pc: pc, gen: w.gen}
			return true
		}
		if v.pc == pc {
			return false
		}
		i = (i + 1) % uint64(len(w.seen))
	}
}

// visited reports whether an instruction is in the set.
func (w *walk) visited(pc uint64) bool { return w.visitOf(pc) != nil }

// visitOf gives an instruction's entry in the set, nil if it is not there.
func (w *walk) visitOf(pc uint64) *visit {
	i := visitPlace(pc)
	for w.seen[i].gen == w.gen {
		if w.seen[i].pc == pc {
			return &w.seen[i]
		}
		i = (i + 1) % uint64(len(w.seen))
	}
	return nil
}

// code gives the bytes at pc: those of one instruction at least, where there are
// that many.
func (w *walk) code(pc uint64) []byte {
	at := pc &^ (chunkSize - 1)
	c := &w.chunks[pc>>chunkBits%numChunks]
	if c.tag != at+1 {
		c.tag = at + 1
		c.n = w.read(at, c.data[:])
	}
	off := int(pc - at)
	if off >= c.n {
		return w.direct(pc, c)
	}
	return c.data[off:c.n]
}

// direct reads code whose chunk does not begin where the code does, which is so
// at the first bytes of a module.
func (w *walk) direct(pc uint64, c *chunk) []byte {
	if c.n != 0 {
		return nil
	}
	c.tag = 0
	return c.data[:w.read(pc, c.data[:chunkTail])]
}

// read calls the module's Code and distrusts its result.
func (w *walk) read(addr uint64, buf []byte) int {
	return max(0, min(w.src.o.Code.ReadCode(addr, buf), len(buf)))
}

// push remembers a path to be followed; beyond the limit it is dropped.
func (w *walk) push(pc uint64) {
	if v := w.visitOf(pc); v != nil && (!w.whole || v.sp == mixedSP || v.sp == w.st.spKey()) {
		return
	}
	if w.npend == len(w.pending) {
		w.dropped = true
		return
	}
	w.pending[w.npend].take(&w.st)
	w.pending[w.npend].enter(pc)
	w.npend++
}

// span is a run of addresses, hi excluded.
type span struct{ lo, hi uint64 }

// spanOf gives the piece of the function that an address is in, an empty one if none.
func (w *walk) spanOf(pc uint64) span {
	for _, s := range w.spans {
		if pc >= s.lo && pc < s.hi {
			return s
		}
	}
	return span{}
}

// pushInto is push for a path into another piece of the function.
func (w *walk) pushInto(pc uint64, to span) {
	n := w.npend
	if w.push(pc); w.npend > n {
		w.pending[n].lo, w.pending[n].hi = to.lo, to.hi
	}
}

// otherwise reports whether the instruction after a call is going to be reached
// by a jump with another stack pointer: then the call does not return.
func (w *walk) otherwise() bool {
	sp := w.st.sp
	for i := range w.npend {
		if p := &w.pending[i]; p.pc == w.st.pc && p.regs[sp] != w.st.regs[sp] {
			return true
		}
	}
	return false
}

// postpone remembers a path that has left the function.
func (w *walk) postpone(pc, lo, hi uint64) {
	if w.nlater < len(w.later) && !w.visited(pc) {
		p := &w.later[w.nlater]
		p.take(&w.st)
		p.enter(pc)
		p.lo, p.hi = lo, hi
		w.nlater++
	}
}

// pop takes the next path.
func (w *walk) pop() bool {
	if w.npend == 0 {
		return false
	}
	w.npend--
	w.st.take(&w.pending[w.npend])
	return true
}

// enter goes on elsewhere.
func (st *state) enter(pc uint64) {
	st.pc, st.cmpReg = pc, noReg
	st.afterCall, st.padded, st.pushedMem = false, false, false
}
