// SPDX-License-Identifier: Apache-2.0

package php

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// walk is the PHP side of one walk.
type walk struct {
	sample    *managed.Sample
	liveAsked bool
	live      bool // the thread has slept since: uncopied memory can be read now
	usedLive  bool // memory was read so

	calls   []call
	runs    []run
	ownRuns int // runs on this C stack; those behind have resumed a fiber
	nextRun int // of runs: the innermost without a native frame

	frames        int    // native frames so far
	executeFrames int    // of execute_ex
	executeSP     uint64 // the stack pointer of the last one, or of the first frame behind it on the same stack
	lastSP        uint64 // the stack pointer of the last native frame
	emptyFrame    bool   // one had no run: just entered, or about to be left
	byOrder       bool   // one was assigned by order only
	unfinished    bool   // the native walk may lack its root
	incomplete    bool   // the chain was not read to its end
	broken        bool
}

// call is one record of the engine's chain.
type call struct {
	at, functionAt uint64
	opline         uint64
	kind           uint8 // of its function
	function       *function
}

// run has the calls of one native frame of execute_ex: user functions, and the internal ones that the innermost called.
type run struct {
	from, to int    // of calls
	user     uint64 // address of the innermost user call; 0: none
}

const mostCalls = 1 << 15

// Begin implements [managed.Namer].
func (r *Runtime) Begin(s *managed.Sample) {
	w := &r.walk
	r.functions.evictIdle(s.At)
	sp := s.Regs.SP()
	*w = walk{sample: s, calls: w.calls[:0], runs: w.runs[:0], executeSP: sp, lastSP: sp}
	globals, ok := r.globalsOf()
	if !ok {
		return
	}
	r.readCalls(w.word(globals + uint64(r.current)))
}

// globalsOf gives the executor globals of the sample's thread.
func (r *Runtime) globalsOf() (uint64, bool) {
	w := &r.walk
	if r.threadSafe {
		return r.Anchor(w.sample.TID, w.sample.Regs.TLS)
	}
	if r.thread == 0 && r.hasExecuteEx() {
		r.thread = w.sample.TID
	}
	return r.globals, r.thread == w.sample.TID
}

// mostExamined bounds the words of the stack in which hasExecuteEx searches.
const mostExamined = 8 << 10

// hasExecuteEx reports whether execute_ex is on the thread's stack.
func (r *Runtime) hasExecuteEx() bool {
	w := &r.walk
	if r.inExecuteEx(w.sample.Regs.PC) {
		return true
	}
	sp := w.sample.Regs.SP() &^ 7
	for at := sp; at < sp+8*mostExamined; at += 8 {
		v, ok := w.sample.Mem.Word(at)
		if !ok {
			return false
		}
		if r.inExecuteEx(v) {
			return true
		}
	}
	return false
}

// inExecuteEx reports code of execute_ex, or in its frame.
func (r *Runtime) inExecuteEx(pc uint64) bool {
	return r.executeEx.has(pc) || r.cold.has(pc) || r.jit.has(pc)
}

// readCalls reads the calls from the innermost on.
func (r *Runtime) readCalls(at uint64) {
	w, from := &r.walk, 0
	user, seen, fiber := uint64(0), uint64(0), false
	end := func() {
		if from < len(w.calls) {
			w.runs = append(w.runs, run{from, len(w.calls), user})
			if !fiber {
				w.ownRuns = len(w.runs)
			}
		}
		from, user = len(w.calls), 0
	}
	for n := 0; at != 0; n++ {
		opline, ok := w.get(at + callOpline)
		fn, ok2 := w.get(at + callFunc)
		info, ok3 := w.get(at + callInfo)
		prev, ok4 := w.get(at + callPrev)
		if !ok || !ok2 || !ok3 || !ok4 {
			w.incomplete, w.calls = true, w.calls[:from] // the whole run is unknown
			return
		}
		if n == mostCalls || len(w.calls) > mostCalls || at&7 != 0 || at == seen {
			w.broken = true
			return
		}
		if n&(n-1) == 0 { // finds circles (Brent)
			seen = at
		}
		c := call{at: at, functionAt: fn, opline: opline}
		switch {
		case fn == 0:
			r.appendDelegating(at, info)
		case !r.resolve(&c):
			// A file's code is freed before its call (zend_leave_helper, Zend/zend_vm_def.h).
			if len(w.calls) > 0 || info&(infoCode|infoTop) != infoCode {
				w.broken = true
				return
			}
			w.calls, user = append(w.calls, call{at: at, kind: typeUser}), at
		case c.kind == 0: // not copied
			w.incomplete, w.calls = true, w.calls[:from]
			return
		case c.kind == typeInternal && c.function != nil && c.function.nameless: // the bottom of a fiber's stack
			end()
			fiber = true
		default:
			w.calls = append(w.calls, c)
			if c.kind != typeInternal {
				if user == 0 {
					user = at
				}
				if info&infoTop != 0 {
					end()
				}
			}
		}
		at = prev
	}
	end()
}

// mostDelegating bounds waiting generators.
const mostDelegating = 1 << 10

// appendDelegating adds the calls of generators that wait for the running one (yield from). One record stands for all,
// in the outermost; each leads to the one that it waits for. One call stands for those from the first unreadable one
// on.
func (r *Runtime) appendDelegating(at, info uint64) {
	w := &r.walk
	gen := at - uint64(r.generatorFake)
	if len(w.calls) == 0 || info&infoType != isObject || w.word(at+callThis) != gen {
		return // one of the engine's own calls
	}
	first, running, used := len(w.calls), w.calls[len(w.calls)-1].at, w.usedLive
	for n := 0; gen != 0; n++ {
		data, ok := w.get(gen + uint64(r.generatorData))
		parent, ok2 := w.get(gen + uint64(r.generator))
		if ok && ok2 && (data == running || data == 0) {
			break
		}
		c := call{at: data, kind: typeUser}
		opline, ok3 := w.get(data + callOpline)
		fn, ok4 := w.get(data + callFunc)
		c.opline, c.functionAt = opline-opSize, fn // the record has the next one
		if !ok || !ok2 || !ok3 || !ok4 || n == mostDelegating || !r.resolve(&c) {
			w.calls = append(w.calls, call{kind: typeUser})
			break
		}
		w.calls = append(w.calls, c)
		gen = parent
	}
	slices.Reverse(w.calls[first:])
	if w.usedLive && !used {
		if w.usedLive = false; !w.stillLive() {
			w.calls = append(w.calls[:first], call{kind: typeUser})
		}
	}
}

// word is get, 0 if unreadable.
func (w *walk) word(addr uint64) uint64 {
	v, _ := w.get(addr)
	return v
}

// get gives the word at addr as of the sample: copied, or read now if unchanged.
func (w *walk) get(addr uint64) (uint64, bool) {
	if v, ok := w.sample.Mem.Word(addr); ok {
		return v, true
	}
	if addr < 1<<12 || !w.isLive() {
		return 0, false
	}
	w.usedLive = true
	return readWord(w.sample.Live, addr)
}

// isLive reports whether the thread has slept since the sample.
func (w *walk) isLive() bool {
	if !w.liveAsked {
		w.liveAsked, w.live = true, w.sample.Live != nil && w.sample.Live.Unchanged()
	}
	return w.live
}

// stillLive reports whether what was just read holds.
func (w *walk) stillLive() bool {
	w.live = w.live && w.sample.Live.Unchanged()
	return w.live
}

// inRegs reports whether a register has the word.
func (w *walk) inRegs(word uint64) bool {
	regs := w.sample.Regs
	for i := range frames.NumRegs {
		if v, ok := regs.Get(uint8(i)); ok && v == word {
			return true
		}
	}
	return false
}
