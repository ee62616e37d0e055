package heuristics

import "prywalk/frames"

// entrySize bounds the code at the ELF entry point where its end is not known.
const entrySize = 0x40

// isRoot reports whether q lies in a function that has no caller: the program's
// entry point, or the code that a new thread starts in.
func (s *Source) isRoot(w *walk, q frames.Query) bool {
	at := q.Lookup(s.o.Arch)
	if s.o.Entry != 0 && at >= s.o.Entry && at < w.entryEnd() {
		return true
	}
	if s.abi.startsElsewhere != nil && s.abi.startsElsewhere(w, at) {
		return true
	}
	return s.abi.isThreadRoot(w, q.PC)
}

// entryEnd gives the end of the code at the entry point: where its function
// ends, or its first instruction that does not go on.
func (w *walk) entryEnd() uint64 {
	entry := w.src.o.Entry
	if start, end, ok := w.src.bounds(entry); ok && start == entry {
		return end
	}
	st := &w.st
	st.reset(w.src.abi, entry, 0, ^uint64(0))
	for st.pc < entry+entrySize {
		f := w.src.abi.exec(st, w.code(st.pc))
		st.pc += uint64(max(f.size, 1))
		if f.kind != flowNext && f.kind != flowCall && f.kind != flowCond {
			break
		}
	}
	return st.pc
}
