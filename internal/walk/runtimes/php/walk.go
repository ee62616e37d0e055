// SPDX-License-Identifier: Apache-2.0

package php

import (
	"slices"

	"prywalk/internal/walk/managed"
)

type walk struct {
	view *managed.View

	calls       []executeData
	runs        []run
	runsOnStack int
	steps       int // records of calls that were read
	nextRun     int // the innermost run without a native frame

	frames        int // native frames so far
	executeFrames int
	executeSP     uint64       // the last one's, or the first frame's after it on the same stack
	lastSP        uint64       // last native frame's
	signal        managed.Span // of a handler after the last frame of execute_ex, with its context
	emptyFrame    bool         // without a run: just entered, or about to be left
	pairedByOrder bool         // a run was assigned by order only
	unfinished    bool         // the native walk may lack its outer end
	incomplete    bool         // the calls' outer end was unreadable
	bottom        uint64       // record of the last fiber's outermost call
	broken        bool
}

type executeData struct {
	at, functionAt uint64
	opline         uint64
	kind           uint8
	function       *function
}

// run is the calls of one native frame of execute_ex: user functions, and internal ones that the innermost called.
type run struct {
	from, to int
	user     uint64
}

const maxCalls = 1 << 15

// Begin implements [managed.FrameSource].
func (r *Runtime) Begin(s *managed.Sample) {
	w := &r.walk
	r.functions.begin(s.At)
	sp := s.Regs.SP()
	r.view.Begin(s)
	*w = walk{view: &r.view, calls: w.calls[:0], runs: w.runs[:0], executeSP: sp, lastSP: sp}
	globals, ok := r.globalsOf()
	if !ok {
		return
	}
	r.readCalls(w.view.Value(globals + uint64(r.layout.current)))
}

func (r *Runtime) globalsOf() (uint64, bool) {
	w := &r.walk
	if r.threadSafe {
		return r.Anchor(w.view.Sample.InnerTID, w.view.Sample.Regs.TLS)
	}
	if r.thread == 0 && r.hasExecuteEx() {
		r.thread = w.view.Sample.InnerTID
	}
	return r.globals, r.thread == w.view.Sample.InnerTID
}

const maxExamined = 8 << 10 // words

func (r *Runtime) hasExecuteEx() bool {
	w := &r.walk
	sp := w.view.Sample.Regs.SP()
	return r.inExecuteEx(w.view.Sample.Regs.PC) || w.isOnStack(sp, sp+8*maxExamined, r.inExecuteEx)
}

func (r *Runtime) inExecuteEx(pc uint64) bool {
	return r.executeEx.Has(pc) || r.cold.Has(pc) || r.jit.has(pc)
}

type runBuilder struct {
	from  int
	user  uint64
	fiber bool // on a stack that resumed a fiber
}

func (w *walk) endRun(b *runBuilder) {
	if b.from < len(w.calls) {
		w.runs = append(w.runs, run{b.from, len(w.calls), b.user})
		if !b.fiber {
			w.runsOnStack = len(w.runs)
		}
	}
	b.from, b.user = len(w.calls), 0
}

func (w *walk) dropRun(b *runBuilder) { w.incomplete, w.calls = true, w.calls[:b.from] }

type callRecord struct{ opline, function, info, previous uint64 }

func (w *walk) readCall(at uint64) (callRecord, bool) {
	opline, ok := w.view.Word(at + callOpline)
	function, ok2 := w.view.Word(at + callFunc)
	info, ok3 := w.view.Word(at + callInfo)
	previous, ok4 := w.view.Word(at + callPrev)
	return callRecord{opline, function, info, previous}, ok && ok2 && ok3 && ok4
}

func (r *Runtime) readCalls(at uint64) {
	w, b := &r.walk, runBuilder{}
	for at != 0 {
		w.steps++
		record, ok := w.readCall(at)
		if !ok {
			w.dropRun(&b)
			return
		}
		if w.steps > maxCalls || len(w.calls) > maxCalls || at&7 != 0 {
			w.broken = true
			return
		}
		if !r.addCall(at, &record, &b) {
			return
		}
		at = record.previous
	}
	w.endRun(&b)
}

// addCall adds a call to the current run, or ends the run; it returns false if the walk ends with this call.
func (r *Runtime) addCall(at uint64, record *callRecord, b *runBuilder) bool {
	w := &r.walk
	c := executeData{at: at, functionAt: record.function, opline: record.opline}
	switch {
	case record.function == 0:
		r.appendDelegating(at, record.info)
	case !r.resolve(&c):
		// A file's code is freed before its call (zend_leave_helper, Zend/zend_vm_def.h).
		if len(w.calls) > 0 || record.info&(callCode|callTop) != callCode {
			w.broken = true
			return false
		}
		w.calls, b.user = append(w.calls, executeData{at: at, kind: typeUser}), at
	case c.kind == 0: // not copied
		w.dropRun(b)
		return false
	case c.kind == typeInternal && c.function != nil && c.function.id.nameless(): // the bottom of a fiber's stack
		w.endRun(b)
		b.fiber, w.bottom = true, at
	case c.kind == typeInternal:
		w.calls = append(w.calls, c)
	default:
		w.calls = append(w.calls, c)
		if b.user == 0 {
			b.user = at
		}
		if record.info&callTop != 0 {
			w.endRun(b)
		}
	}
	return true
}

const maxDelegating = 1 << 10

// appendDelegating appends generators that wait for the running one (yield from). They have one record, in the
// outermost; each leads to the one that it waits for. After an unreadable one, one call stands for the rest.
func (r *Runtime) appendDelegating(at, info uint64) {
	w := &r.walk
	gen := at - uint64(r.layout.generatorFake)
	if len(w.calls) == 0 || info&thisTypeMask != isObject || w.view.Value(at+callThis) != gen {
		return
	}
	first, running, used := len(w.calls), w.calls[len(w.calls)-1].at, w.view.UsedLive
	for n := 0; gen != 0; n++ {
		data, ok := w.view.Word(gen + uint64(r.layout.generatorData))
		parent, ok2 := w.view.Word(gen + uint64(r.layout.generator))
		if ok && ok2 && (data == running || data == 0) {
			break
		}
		c := executeData{at: data, kind: typeUser}
		opline, ok3 := w.view.Word(data + callOpline)
		fn, ok4 := w.view.Word(data + callFunc)
		c.opline, c.functionAt = opline-opSize, fn // the record has the next one
		if !ok || !ok2 || !ok3 || !ok4 || n == maxDelegating || !r.resolve(&c) {
			w.calls = append(w.calls, executeData{kind: typeUser})
			break
		}
		w.calls = append(w.calls, c)
		gen = parent
	}
	slices.Reverse(w.calls[first:])
	if w.view.UsedLive && !used {
		if w.view.UsedLive = false; !w.view.StillLive() {
			w.calls = append(w.calls[:first], executeData{kind: typeUser})
		}
	}
}

func (w *walk) isInParts(parts [2]managed.Span, test func(word uint64) bool) bool {
	return w.isOnStack(parts[0].Start, parts[0].End, test) || w.isOnStack(parts[1].Start, parts[1].End, test)
}

func (w *walk) isOnStack(from, to uint64, test func(word uint64) bool) bool {
	for at := from &^ 7; at < to; at += 8 {
		v, ok := w.view.Sample.Mem.Word(at)
		if !ok {
			return false
		}
		if test(v) {
			return true
		}
	}
	return false
}
