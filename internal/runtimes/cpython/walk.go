// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"prywalk/frames"
	"prywalk/internal/managed"
)

// frameChain is a thread's frames of the interpreter, innermost first.
type frameChain struct {
	*interpreter
	*managed.View
	threads *threads
	codes   *codes

	state  uint64
	shared bool // one of several states: another may have the outer frames
	frames []pyFrame
	runs   []run
	// cframeBeingFilled is the newest _PyCFrame of 3.12 while it may not be filled in.
	cframeBeingFilled uint64
	incomplete        bool // the outer end was unreadable
	broken            bool // it contradicts itself or the native frames
}

type pyFrame struct {
	at     uint64
	code   uint64
	offset int // of its instruction, bytes
}

// run is one native frame's Python frames.
type run struct {
	record   uint64 // an address in it; before 3.11 a word stored in it
	from, to int
}

const maxFrames = 1 << 15

func (w *frameChain) read() {
	w.state, w.shared, w.cframeBeingFilled = 0, false, 0
	w.reset()
	if !w.findState() {
		return
	}
	if w.minor <= 10 {
		w.chainOfObjects()
		return
	}
	first := w.Value(w.state + uint64(w.threadFrame))
	if !w.cframe {
		w.chainByOwner(first)
		return
	}
	w.cframeBeingFilled = first
	w.chainFrom(first)
	if !w.entered(first) {
		w.cframeBeingFilled = 0
		w.chainFrom(w.outerCFrame(first))
	}
}

func (w *frameChain) reset() {
	w.frames, w.runs, w.broken, w.incomplete = w.frames[:0], w.runs[:0], false, false
}

// entered reports whether the newest _PyCFrame is filled in; 3.11 and 3.12 publish it before. A complete one points to
// its predecessor, and in 3.12 its record to the same frame as that.
func (w *frameChain) entered(cframe uint64) bool {
	prev, ok := w.Word(cframe + uint64(w.cframePrev))
	if !ok || w.inState(cframe) {
		return true
	}
	if !w.leadsToRoot(prev) {
		return false
	}
	if len(w.runs) == 0 || w.minor == 11 {
		return true // chain and merge check the target
	}
	outer, ok := w.Word(prev + uint64(w.cframeCurrent))
	led, ok2 := w.Word(w.runs[0].record + uint64(w.framePrev))
	return !ok || !ok2 || led == outer
}

const maxCFrames = 1 << 12

// leadsToRoot reports whether cframe leads to the thread state's own, as far as copied.
func (w *frameChain) leadsToRoot(cframe uint64) bool {
	for range maxCFrames {
		if w.inState(cframe) {
			return true
		}
		prev, ok := w.Word(cframe + uint64(w.cframePrev))
		if !ok {
			return w.Sample.Mem.Cut(cframe)
		}
		cframe = prev
	}
	return false
}

// outerCFrame returns the one before an incomplete _PyCFrame; until it is stored there, a register has it.
func (w *frameChain) outerCFrame(cframe uint64) uint64 {
	prev := w.Value(cframe + uint64(w.cframePrev))
	if w.leadsToRoot(prev) {
		return prev
	}
	next := uint64(0)
	for i := range frames.NumRegs {
		v, ok := w.Sample.Regs.Get(uint8(i))
		_, copied := w.Sample.Mem.Word(v)
		if ok && copied && v > cframe && (next == 0 || v < next) && v%8 == 0 && w.leadsToRoot(v) {
			next = v
		}
	}
	return next
}

func (w *frameChain) inState(addr uint64) bool {
	return addr >= w.state && addr < w.state+uint64(w.threadSize)
}

func (w *frameChain) chainFrom(cframe uint64) {
	w.reset()
	if w.minor == 11 {
		w.chainByCFrames(cframe)
		return
	}
	w.chainByOwner(w.Value(cframe + uint64(w.cframeCurrent)))
}

// findState finds the thread state: in the list, in the copies, or in the list read again.
func (w *frameChain) findState() bool {
	s := w.Sample
	if th := w.threads.find(s.InnerTID, s.Regs.TLS, 0); th != nil && w.isState(th.at, th.recordedID) {
		w.shared = th.shared
		return true
	}
	at := w.Value(w.threads.head)
	for n := 0; at != 0 && n < maxStatesSearched; n++ {
		if w.isState(at, 0) {
			w.threads.addObserved(thread{at: at, id: w.Value(at + uint64(w.threadID)), native: uint64(s.InnerTID)})
			return true
		}
		at = w.Value(at + uint64(w.threadNext))
	}
	if at, ok := w.threads.anchor(s.InnerTID, s.Regs.TLS); ok && w.isState(at, 0) {
		return true
	}
	th := w.threads.find(s.InnerTID, s.Regs.TLS, s.Regs.SP())
	return th != nil && w.isState(th.at, th.recordedID)
}

// isState accepts at unless it is another thread's state. wantID is the thread ID in it; 0: the sample's.
func (w *frameChain) isState(at, wantID uint64) bool {
	s := w.Sample
	if wantID == 0 {
		wantID = uint64(s.InnerTID)
	}
	id := w.Value(at + uint64(w.threadID))
	switch {
	case id == 0, s.Regs.TLS != 0 && id != s.Regs.TLS:
		return false
	case w.threadNative != 0 && w.Value(at+uint64(w.threadNative)) != wantID:
		return false
	}
	w.state = at
	return true
}

// byte returns the byte at addr, 0xff if unreadable.
func (w *frameChain) byte(addr uint64) byte {
	word, ok := w.Word(addr &^ 7)
	if !ok {
		return 0xff
	}
	return byte(word >> (addr & 7 * 8))
}

// add returns false if there are too many, as in a cycle.
func (w *frameChain) add(f pyFrame) bool {
	w.frames = append(w.frames, f)
	return len(w.frames) < maxFrames
}

// cut ends an unreadable chain, without its incomplete run.
func (w *frameChain) cut() {
	w.incomplete = true
	to := 0
	if n := len(w.runs); n > 0 {
		to = w.runs[n-1].to
	}
	w.frames = w.frames[:to]
}

// chainByOwner reads 3.12 on: a frame owned by the C stack ends a run. In 3.15 one after the thread state ends the
// chain.
func (w *frameChain) chainByOwner(at uint64) {
	from := 0
	for n := 0; at != 0; n++ {
		prev, ok := w.Word(at + uint64(w.framePrev))
		code, ok2 := w.Word(at + uint64(w.frameCode))
		instr, ok3 := w.Word(at + uint64(w.frameInstr))
		if !ok || !ok2 || !ok3 || n == maxFrames {
			w.cut()
			return
		}
		if owner := w.byte(at + uint64(w.frameOwner)); owner >= ownedByCStack && at-w.state < uint64(w.threadSize) {
			break
		} else if owner == ownedByCStack || owner == ownedByCStack+1 && w.minor >= 14 {
			w.runs = append(w.runs, run{record: at, from: from, to: len(w.frames)})
			from = len(w.frames)
			w.codes.kept.LeaveOut(code &^ 7)
		} else if !w.add(w.frame(at, code, instr)) {
			w.broken = true
			return
		}
		at = prev
	}
	if from != len(w.frames) {
		w.broken = true
	}
}

// chainByCFrames reads 3.11: a run's outermost frame is marked, and each run has a _PyCFrame. The newest must agree
// with the one before, as it may still have that one's frame.
func (w *frameChain) chainByCFrames(cframe uint64) {
	for n := 0; n < maxFrames; n++ {
		if w.inState(cframe) {
			return // the thread's own: nothing runs
		}
		at, ok := w.Word(cframe + uint64(w.cframeCurrent))
		prev, ok2 := w.Word(cframe + uint64(w.cframePrev))
		outer, ok3 := w.Word(prev + uint64(w.cframeCurrent))
		if !ok || !ok2 || !ok3 {
			w.cut()
			return
		}
		from := len(w.frames)
		last, ok := w.runTo(at)
		switch {
		case ok && last == outer:
			w.runs = append(w.runs, run{record: cframe, from: from, to: len(w.frames)})
		case n == 0: // just entered
			w.frames = w.frames[:from]
		case !ok && !w.broken:
			w.cut()
			return
		default:
			w.broken = true
			return
		}
		cframe = prev
	}
	w.broken = true
}

// runTo adds a run of 3.11 and returns the frame outside of it; false if unreadable.
func (w *frameChain) runTo(at uint64) (outer uint64, ok bool) {
	for at != 0 {
		prev, ok := w.Word(at + uint64(w.framePrev))
		code, ok2 := w.Word(at + uint64(w.frameCode))
		instr, ok3 := w.Word(at + uint64(w.frameInstr))
		if !ok || !ok2 || !ok3 {
			return 0, false
		}
		if !w.add(w.frame(at, code, instr)) {
			w.broken = true
			return 0, false
		}
		if w.byte(at+uint64(w.frameEntry)) != 0 {
			return prev, true
		}
		at = prev
	}
	return 0, false
}

// chainOfObjects reads releases to 3.10; each frame has a native one.
func (w *frameChain) chainOfObjects() {
	at := w.Value(w.state + uint64(w.threadFrame))
	for n := 0; at != 0; n++ {
		prev, ok := w.Word(at + uint64(w.framePrev))
		code, ok2 := w.Word(at + uint64(w.frameCode))
		last, ok3 := w.Word(at + uint64(w.frameInstr))
		if !ok || !ok2 || !ok3 || n == maxFrames {
			w.cut()
			return
		}
		offset := int(int32(last))
		if w.minor == 10 && offset > 0 {
			offset *= 2 // 3.10 counts instructions
		}
		w.add(pyFrame{at, code, offset})
		w.runs = append(w.runs, run{record: at, from: n, to: n + 1})
		at = prev
	}
}
