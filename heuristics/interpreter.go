package heuristics

import "sync"

// maxSteps bounds the instructions of one analysis, and maxForward those of one that goes on to a function's returns.
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
