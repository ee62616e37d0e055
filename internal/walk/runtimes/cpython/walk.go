// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

type frameChain struct {
	python  *interpreter
	view    *managed.View
	threads *threads
	codes   *codes

	state  uint64
	shared bool // another state may have the outer frames
	frames []pyFrame
	runs   []run
	// cframeBeingFilled is the newest _PyCFrame of 3.12 while it may not be filled in.
	cframeBeingFilled uint64
	incomplete        bool
	broken            bool // it contradicts itself or the native frames
}

type pyFrame struct {
	at     uint64
	code   uint64
	offset int // bytes
}

type run struct {
	record   uint64 // an address in it; before 3.11 a word stored in it
	from, to int
}

const maxFrames = 1 << 15

func (c *frameChain) read() {
	c.state, c.shared, c.cframeBeingFilled = 0, false, 0
	c.reset()
	if !c.findState() {
		return
	}
	if c.python.hasFrameObjects() {
		c.chainOfObjects()
		return
	}
	first := c.view.Value(c.state + uint64(c.python.threadFrame))
	if !c.python.cframe {
		c.chainByOwner(first)
		return
	}
	c.cframeBeingFilled = first
	c.chainFrom(first)
	if !c.isFilledIn(first) {
		c.cframeBeingFilled = 0
		c.chainFrom(c.outerCFrame(first))
	}
}

func (c *frameChain) reset() {
	c.frames, c.runs, c.broken, c.incomplete = c.frames[:0], c.runs[:0], false, false
}

// isFilledIn reports whether a _PyCFrame is complete: 3.11 and 3.12 publish the newest one before they fill it in.
//
//	newest ──previous──► _PyCFrame ──previous──► … ──► the thread state's own
//	   │ current_frame       │ current_frame
//	   ▼                     ▼
//	frame ► … ► record ───► frame                       3.12: the record of the newest run links it to the one before
func (c *frameChain) isFilledIn(cframe uint64) bool {
	prev, ok := c.view.Word(cframe + uint64(c.python.cframePrev))
	switch {
	case !ok || c.inState(cframe):
		return true
	case !c.leadsToRoot(prev):
		return false
	case len(c.runs) == 0 || c.python.minor == 11: // chain and merge check the frames
		return true
	}
	outer, ok1 := c.view.Word(prev + uint64(c.python.cframeCurrent))
	linked, ok2 := c.view.Word(c.runs[0].record + uint64(c.python.framePrev))
	return !ok1 || !ok2 || linked == outer
}

const maxCFrames = 1 << 12

func (c *frameChain) leadsToRoot(cframe uint64) bool {
	for range maxCFrames {
		if c.inState(cframe) {
			return true
		}
		prev, ok := c.view.Word(cframe + uint64(c.python.cframePrev))
		if !ok {
			return c.view.Sample.Mem.Cut(cframe)
		}
		cframe = prev
	}
	return false
}

// outerCFrame returns the _PyCFrame before an incomplete one: the linked one, else the nearest in a register, or 0.
func (c *frameChain) outerCFrame(cframe uint64) (outer uint64) {
	if prev := c.view.Value(cframe + uint64(c.python.cframePrev)); c.leadsToRoot(prev) {
		return prev
	}
	for i := range frames.NumRegs {
		v, ok := c.view.Sample.Regs.Get(uint8(i))
		if !ok || v <= cframe || v%8 != 0 || outer != 0 && v >= outer {
			continue
		}
		if _, copied := c.view.Sample.Mem.Word(v); copied && c.leadsToRoot(v) {
			outer = v
		}
	}
	return outer
}

func (c *frameChain) inState(addr uint64) bool {
	return addr-c.state < uint64(c.python.threadSize)
}

func (c *frameChain) chainFrom(cframe uint64) {
	c.reset()
	if c.python.minor == 11 {
		c.chainByCFrames(cframe)
		return
	}
	c.chainByOwner(c.view.Value(cframe + uint64(c.python.cframeCurrent)))
}

func (c *frameChain) findState() bool {
	s := c.view.Sample
	if th := c.threads.find(s.InnerTID, s.Regs.TLS, 0); th != nil && c.isState(th.at, th.recordedID) {
		c.shared = th.shared
		return true
	}
	at := c.view.Value(c.threads.head)
	for n := 0; at != 0 && n < maxStatesSearched; n++ {
		if c.isState(at, 0) {
			c.threads.addObserved(thread{at: at, id: c.view.Value(at + uint64(c.python.threadID)), native: uint64(s.InnerTID)})
			return true
		}
		at = c.view.Value(at + uint64(c.python.threadNext))
	}
	if at, ok := c.threads.anchor(s.InnerTID, s.Regs.TLS); ok && c.isState(at, 0) {
		return true
	}
	th := c.threads.find(s.InnerTID, s.Regs.TLS, s.Regs.SP())
	return th != nil && c.isState(th.at, th.recordedID)
}

// isState accepts at unless it is another thread's state. wantID is the thread ID in it, or 0 for the sample's.
func (c *frameChain) isState(at, wantID uint64) bool {
	s := c.view.Sample
	if wantID == 0 {
		wantID = uint64(s.InnerTID)
	}
	id := c.view.Value(at + uint64(c.python.threadID))
	switch {
	case id == 0, s.Regs.TLS != 0 && id != s.Regs.TLS:
		return false
	case c.python.threadNative != 0 && c.view.Value(at+uint64(c.python.threadNative)) != wantID:
		return false
	}
	c.state = at
	return true
}

func (c *frameChain) byte(addr uint64) byte {
	word, ok := c.view.Word(addr &^ 7)
	if !ok {
		return 0xff
	}
	return byte(word >> (addr & 7 * 8))
}

func (c *frameChain) frameWords(at uint64) (prev, code, instr uint64, ok bool) {
	prev, ok1 := c.view.Word(at + uint64(c.python.framePrev))
	code, ok2 := c.view.Word(at + uint64(c.python.frameCode))
	instr, ok3 := c.view.Word(at + uint64(c.python.frameInstr))
	return prev, code, instr, ok1 && ok2 && ok3
}

// sampledOrPresent is for what does not change while the thread lives.
func (c *frameChain) sampledOrPresent(addr uint64) (uint64, bool) {
	if w, ok := c.view.Sample.Mem.Word(addr); ok || addr < 1<<12 {
		return w, ok
	}
	return c.view.Pages.Word(addr)
}

// add returns false if there are too many frames.
func (c *frameChain) add(f pyFrame) bool {
	c.frames = append(c.frames, f)
	return len(c.frames) < maxFrames
}

func (c *frameChain) cut() {
	c.incomplete = true
	to := 0
	if n := len(c.runs); n > 0 {
		to = c.runs[n-1].to
	}
	c.frames = c.frames[:to]
}

// chainByOwner reads 3.12 on: a frame owned by the C stack ends a run; in 3.15 one after the thread state ends the
// chain.
func (c *frameChain) chainByOwner(at uint64) {
	from := 0
	for n := 0; at != 0; n++ {
		prev, code, instr, ok := c.frameWords(at)
		if !ok || n == maxFrames {
			c.cut()
			return
		}
		owner := c.byte(at + uint64(c.python.frameOwner))
		if owner >= ownedByCStack && c.inState(at) {
			break
		}
		switch {
		case owner == ownedByCStack, owner == ownedByCStack+1 && c.python.minor >= 14:
			c.runs = append(c.runs, run{record: at, from: from, to: len(c.frames)})
			from = len(c.frames)
			c.codes.kept.Skip.Add(code &^ 7) // of an entry frame, never named
		case !c.add(c.python.frame(at, code, instr, c.sampledOrPresent)):
			c.broken = true
			return
		}
		at = prev
	}
	if from != len(c.frames) {
		c.broken = true
	}
}

// chainByCFrames reads 3.11: a run's outermost frame is marked, and each run has a _PyCFrame. The newest counts only if
// its run leads to the frame of its predecessor, which it may still have. Generators that pass throw() on are marked,
// but are not entered (_gen_throw, Objects/genobject.c): their run goes on.
func (c *frameChain) chainByCFrames(cframe uint64) {
	for n := 0; n < maxFrames; n++ {
		if c.inState(cframe) {
			return
		}
		at, ok := c.view.Word(cframe + uint64(c.python.cframeCurrent))
		prev, ok2 := c.view.Word(cframe + uint64(c.python.cframePrev))
		outer, ok3 := c.view.Word(prev + uint64(c.python.cframeCurrent))
		if !ok || !ok2 || !ok3 {
			c.cut()
			return
		}
		from := len(c.frames)
		last, ok := c.runTo(at)
		for ok && last != outer && last != 0 && c.delegates() {
			last, ok = c.runTo(last)
		}
		switch {
		case ok && last == outer:
			c.runs = append(c.runs, run{record: cframe, from: from, to: len(c.frames)})
		case n == 0: // just entered
			c.frames = c.frames[:from]
		case !ok && !c.broken:
			c.cut()
			return
		default:
			c.broken = true
			return
		}
		cframe = prev
	}
	c.broken = true
}

// delegates reports whether the outermost frame so far is a generator's, in 3.11.
func (c *frameChain) delegates() bool {
	return c.byte(c.frames[len(c.frames)-1].at+uint64(c.python.frameOwner)) == ownedByGenerator
}

// runTo adds a run of 3.11 and returns the frame outside of it; false if unreadable.
func (c *frameChain) runTo(at uint64) (outer uint64, ok bool) {
	for at != 0 {
		prev, code, instr, ok := c.frameWords(at)
		if !ok {
			return 0, false
		}
		if !c.add(c.python.frame(at, code, instr, c.sampledOrPresent)) {
			c.broken = true
			return 0, false
		}
		if c.byte(at+uint64(c.python.frameEntry)) != 0 {
			return prev, true
		}
		at = prev
	}
	return 0, false
}

// lastInstruction returns an offset in bytes, of a frame object; 3.10 counts instructions.
func (l *layout) lastInstruction(word uint64) int {
	offset := int(int32(word))
	if l.minor == 10 && offset > 0 {
		offset *= 2
	}
	return offset
}

func (c *frameChain) chainOfObjects() {
	at := c.view.Value(c.state + uint64(c.python.threadFrame))
	for n := 0; at != 0; n++ {
		prev, code, last, ok := c.frameWords(at)
		if !ok || n == maxFrames {
			c.cut()
			return
		}
		c.add(pyFrame{at, code, c.python.lastInstruction(last)})
		c.runs = append(c.runs, run{record: at, from: n, to: n + 1})
		at = prev
	}
}
