// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// entrySize bounds the entry point's code of unknown end, in bytes. glibc's has 0x26, Free Pascal's 0x51.
const entrySize = 0x200

// isRoot reports whether q is in the entry point, or the first function of a new thread or prepared stack.
func (s *Source) isRoot(w *interpreter, q frames.Query) bool {
	at := q.LookupPC(s.opt.Arch)
	if s.opt.Entry != 0 && at >= s.opt.Entry && at < w.entryEnd() {
		return true
	}
	if s.abi.isStackStart != nil && s.abi.isStackStart(w, at) {
		return true
	}
	return s.abi.isThreadRoot(w, q.PC)
}

// entryEnd returns the end of the entry point's function, or of its first instruction without a successor, as a call
// before a landing place or padding.
func (w *interpreter) entryEnd() uint64 {
	s := w.src
	if s.entryEnd == 0 {
		s.entryEnd = w.findEntryEnd(s.opt.Entry)
	}
	return s.entryEnd
}

func (w *interpreter) findEntryEnd(entry uint64) uint64 {
	limit := entry + entrySize
	if start, end, ok := w.src.bounds(entry); ok && start == entry {
		return end
	}
	st := &w.st
	st.reset(w.src.abi, entry, 0, ^uint64(0))
	for st.pc < limit {
		f := w.exec(w.code(st.pc))
		if st.noteNoReturn(f); st.weak {
			break
		}
		if start, _, ok := w.src.bounds(st.pc); ok && start == st.pc {
			break
		}
		st.pc += uint64(max(f.size, 1))
		if f.kind != flowNext && f.kind != flowCall && f.kind != flowCond {
			break
		}
		st.afterCall = st.afterCall || f.kind == flowCall
	}
	return st.pc
}
