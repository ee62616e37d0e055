package heuristics

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
