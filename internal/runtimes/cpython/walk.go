// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"prywalk/frames"
	"prywalk/internal/managed"
)

// walk is the Python side of one walk.
type walk struct {
	sample *managed.Sample
	asked  bool // whether the thread has slept since
	live   bool // it has: memory that was not copied is read as it is now
	used   bool // it was
	pages  *livePages
	state  uint64 // the thread state
	shared bool   // the thread has others: its outer frames can be theirs
	heads  bool   // those of code that is seen again were read

	chain []pyFrame
	runs  []run
	next  int // of runs: the innermost that no native frame has been found for

	cframe0    uint64      // 3.12: the newest _PyCFrame, until the first run was found
	loops      []loopFrame // the native frames of the loop so far, before 3.11
	unfinished bool        // the native walk may have ended before its root
	guessed    bool        // a frame object was looked for anywhere in its native frame
	wasCut     bool        // the chain could not be read to its end
	broken     bool
}

// pyFrame is a frame of the interpreter's chain.
type pyFrame struct {
	at     uint64
	code   uint64
	offset int // of its instruction, in bytes
}

// run is the Python frames that one native frame runs.
type run struct {
	record   uint64 // an address in that native frame; before 3.11 a word that is kept in it
	from, to int    // of the chain
}

const mostFrames = 1 << 15

// Begin implements [managed.Namer].
func (r *Runtime) Begin(s *managed.Sample) {
	w := &r.walk
	if len(r.codes.bySerial) > 2*mostCodes {
		r.codes.forget()
	}
	r.codes.rest(s.At)
	chain, runs, loops := w.chain[:0], w.runs[:0], w.loops[:0]
	*w = walk{sample: s, chain: chain, runs: runs, loops: loops, pages: &r.pages}
	w.pages.n = 0
	if !r.findState() {
		return
	}
	if r.minor <= 10 {
		r.chainOfObjects()
		return
	}
	first := w.word(w.state + uint64(r.threadFrame))
	if !r.cframe {
		r.chainByOwner(first)
		return
	}
	w.cframe0 = first
	r.chainFrom(first)
	if !r.entered(first) {
		w.cframe0 = 0
		r.chainFrom(r.outerCFrame(first))
	}
}

// entered reports whether what the newest _PyCFrame leads to is of its own call. 3.11 and 3.12 tell the thread's state
// of it before they fill it in. Until then it says what an earlier call has left there on the stack. One that is filled
// in leads to the one before. In 3.12 its record leads to the frame that this one has.
func (r *Runtime) entered(cframe uint64) bool {
	w := &r.walk
	prev, ok := w.get(cframe + uint64(r.cframePrev))
	if !ok || r.inState(cframe) {
		return true
	}
	if !r.leadsToRoot(prev) {
		return false
	}
	if len(w.runs) == 0 || r.minor == 11 {
		return true // what it leads to is looked at by those that read the chain, and by the merge
	}
	outer, ok := w.get(prev + uint64(r.cframeCurrent))
	led, ok2 := w.get(w.runs[0].record + uint64(r.framePrev))
	return !ok || !ok2 || led == outer
}

// mostCFrames bounds the entries into the interpreter that are followed.
const mostCFrames = 1 << 12

// leadsToRoot reports whether an address can be that of a _PyCFrame: it leads to the thread's own one, as far as there
// are copies.
func (r *Runtime) leadsToRoot(cframe uint64) bool {
	w := &r.walk
	for range mostCFrames {
		if r.inState(cframe) {
			return true
		}
		prev, ok := w.get(cframe + uint64(r.cframePrev))
		if !ok {
			return w.sample.Mem.Cut(cframe)
		}
		cframe = prev
	}
	return false
}

// outerCFrame gives the _PyCFrame before one that is not filled in. While it does not lead there yet, a register does:
// to that which is the next on the stack.
func (r *Runtime) outerCFrame(cframe uint64) uint64 {
	w := &r.walk
	prev := w.word(cframe + uint64(r.cframePrev))
	if r.leadsToRoot(prev) {
		return prev
	}
	next := uint64(0)
	for i := range frames.NumRegs {
		v, ok := w.sample.Regs.Get(uint8(i))
		if ok && v > cframe && (next == 0 || v < next) && v%8 == 0 && w.has(v) && r.leadsToRoot(v) {
			next = v
		}
	}
	return next
}

// inState reports whether an address lies in the thread's state.
func (r *Runtime) inState(addr uint64) bool {
	return addr >= r.state && addr < r.state+uint64(r.threadSize)
}

// has reports whether the word at addr was copied.
func (w *walk) has(addr uint64) bool {
	_, ok := w.sample.Mem.Word(addr)
	return ok
}

// chainFrom reads the chain that a _PyCFrame leads to.
func (r *Runtime) chainFrom(cframe uint64) {
	w := &r.walk
	w.chain, w.runs, w.broken, w.wasCut = w.chain[:0], w.runs[:0], false, false
	if r.minor == 11 {
		r.chainByCFrames(cframe)
		return
	}
	r.chainByOwner(w.word(cframe + uint64(r.cframeCurrent)))
}

// findState finds the thread's state: as the list says, as the stop has found it, or as the list says that is read
// anew.
func (r *Runtime) findState() bool {
	w, s := &r.walk, r.sample
	if th := r.find(s.TID, s.Regs.TLS, 0); th != nil && r.isState(th.at, th.says) {
		w.shared = th.shared
		return true
	}
	at := w.word(r.threads.head)
	for n := 0; at != 0 && n < mostSought; n++ {
		if r.isState(at, 0) {
			r.threads.meet(thread{at: at, id: w.word(at + uint64(r.threadID)), native: uint64(s.TID)})
			return true
		}
		at = w.word(at + uint64(r.threadNext))
	}
	if at, ok := r.Anchor(s.TID, s.Regs.TLS); ok && r.isState(at, 0) {
		return true
	}
	th := r.find(s.TID, s.Regs.TLS, s.Regs.SP())
	return th != nil && r.isState(th.at, th.says)
}

// isState takes an address for that of the thread's state, if it is not another's. Where nothing tells, the merge does.
// says is the number that it has for the thread; 0: the thread's.
func (r *Runtime) isState(at, says uint64) bool {
	w, s := &r.walk, r.sample
	if says == 0 {
		says = uint64(s.TID)
	}
	id := w.word(at + uint64(r.threadID))
	switch {
	case id == 0, s.Regs.TLS != 0 && id != s.Regs.TLS:
		return false
	case r.threadNative != 0 && w.word(at+uint64(r.threadNative)) != says:
		return false
	}
	w.state = at
	return true
}

// add adds a frame to the chain; false if there are too many, as in a circle.
func (w *walk) add(f pyFrame) bool {
	w.chain = append(w.chain, f)
	return len(w.chain) < mostFrames
}

// cut ends a chain that cannot be read on. The runs up to there hold; the last one is not known as a whole.
func (w *walk) cut() {
	w.wasCut = true
	to := 0
	if n := len(w.runs); n > 0 {
		to = w.runs[n-1].to
	}
	w.chain = w.chain[:to]
}

// chainByOwner reads a chain in which frames that the C stack owns stand between the runs (from 3.12 on). In 3.15 it
// ends with one that lies behind the thread's state.
func (r *Runtime) chainByOwner(at uint64) {
	w, from := &r.walk, 0
	for n := 0; at != 0; n++ {
		prev, ok := w.get(at + uint64(r.framePrev))
		code, ok2 := w.get(at + uint64(r.frameCode))
		instr, ok3 := w.get(at + uint64(r.frameInstr))
		if !ok || !ok2 || !ok3 || n == mostFrames {
			w.cut()
			return
		}
		if owner := w.byte(at + uint64(r.frameOwner)); owner >= ownedByCStack && at-w.state < uint64(r.threadSize) {
			break
		} else if owner == ownedByCStack || owner == ownedByCStack+1 && r.minor >= 14 {
			w.runs = append(w.runs, run{record: at, from: from, to: len(w.chain)})
			from = len(w.chain)
			r.codes.leaveOut(code &^ 7)
		} else if !w.add(r.frame(at, code, instr)) {
			w.broken = true
			return
		}
		at = prev
	}
	if from != len(w.chain) {
		w.broken = true
	}
}

// frame describes a frame of 3.11 on by its words.
func (r *Runtime) frame(at, code, instr uint64) pyFrame {
	code &= r.frameMask
	return pyFrame{at: at, code: code, offset: int(int64(instr - code - uint64(r.codeInstr)))}
}

// chainByCFrames reads a chain of 3.11, in which the outermost frame of a run is marked, and each run has a _PyCFrame.
// The newest one is not believed before it agrees with the one before: for a moment its frame is not its own.
func (r *Runtime) chainByCFrames(cframe uint64) {
	w := &r.walk
	for n := 0; n < mostFrames; n++ {
		if r.inState(cframe) {
			return // that of the thread itself: nothing runs
		}
		at, ok := w.get(cframe + uint64(r.cframeCurrent))
		prev, ok2 := w.get(cframe + uint64(r.cframePrev))
		outer, ok3 := w.get(prev + uint64(r.cframeCurrent))
		if !ok || !ok2 || !ok3 {
			w.cut()
			return
		}
		from := len(w.chain)
		last, ok := r.runTo(at)
		switch {
		case ok && last == outer:
			w.runs = append(w.runs, run{record: cframe, from: from, to: len(w.chain)})
		case n == 0: // it has just been entered
			w.chain = w.chain[:from]
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

// runTo adds the frames of a run of 3.11, and gives the one that follows it; false if it cannot be read.
func (r *Runtime) runTo(at uint64) (outer uint64, ok bool) {
	w := &r.walk
	for at != 0 {
		prev, ok := w.get(at + uint64(r.framePrev))
		code, ok2 := w.get(at + uint64(r.frameCode))
		instr, ok3 := w.get(at + uint64(r.frameInstr))
		if !ok || !ok2 || !ok3 {
			return 0, false
		}
		if !w.add(r.frame(at, code, instr)) {
			w.broken = true
			return 0, false
		}
		if w.byte(at+uint64(r.frameEntry)) != 0 {
			return prev, true
		}
		at = prev
	}
	return 0, false
}

// chainOfObjects reads a chain of frame objects (to 3.10): each has a native frame of its own.
func (r *Runtime) chainOfObjects() {
	w := &r.walk
	at := w.word(w.state + uint64(r.threadFrame))
	for n := 0; at != 0; n++ {
		prev, ok := w.get(at + uint64(r.framePrev))
		code, ok2 := w.get(at + uint64(r.frameCode))
		last, ok3 := w.get(at + uint64(r.frameInstr))
		if !ok || !ok2 || !ok3 || n == mostFrames {
			w.cut()
			return
		}
		offset := int(int32(last))
		if r.minor == 10 && offset > 0 {
			offset *= 2 // it counts instructions
		}
		w.add(pyFrame{at, code, offset})
		w.runs = append(w.runs, run{record: at, from: n, to: n + 1})
		at = prev
	}
}

// word is get, 0 for what cannot be read.
func (w *walk) word(addr uint64) uint64 {
	v, _ := w.get(addr)
	return v
}

// byte gives the byte at addr, which lies in a word that was read.
func (w *walk) byte(addr uint64) byte {
	v, ok := w.get(addr &^ 7)
	if !ok {
		return 0xff
	}
	return byte(v >> (addr & 7 * 8))
}

// get gives the word at addr as of the sample: as it was copied, or as it is where that is known to be the same.
func (w *walk) get(addr uint64) (uint64, bool) {
	if v, ok := w.sample.Mem.Word(addr); ok {
		return v, true
	}
	if addr < 1<<12 || !w.isLive() {
		return 0, false
	}
	w.used = true
	return w.pages.word(w.sample.Live, addr)
}

// isLive reports whether the thread has slept since the sample was taken, so that its memory is as it was. The kernel
// is asked when that first matters. Mostly it does not: what a walk needs was copied, and its code is known.
func (w *walk) isLive() bool {
	if !w.asked {
		w.asked, w.live = true, w.sample.Live != nil && w.sample.Live.Unchanged()
	}
	return w.live
}
