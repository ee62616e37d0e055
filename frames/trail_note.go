package frames

import "math"

// trailFrame is a frame of a trail, with the step from there to its caller. While it is
// gathered, words is the number of words of its own step, and rest and needFP are of that
// step alone.
type trailFrame struct {
	pc, sp Addr
	fp     uint64 // the frame pointer's value
	words  uint32 // index of the first word that the step reads
	rest   uint32 // registers that this step and those further out restore
	method Method // how the frame was found
	caller bool
	needFP bool // this step needs fp, or one further out before it is restored
}

// trailWords are the words that steps have read, a column for each property.
type trailWords struct {
	below []uint32 // how far below Trail.top the word lies
	val   []uint64
	reg   []uint8 // the register that got it; NoReg for the program counter
}

// freshWord is a word that is being gathered.
type freshWord struct {
	at  Addr
	val uint64
	reg uint8
}

// cut leaves the first n words.
func (w *trailWords) cut(n int) {
	w.below, w.val, w.reg = w.below[:n], w.val[:n], w.reg[:n]
}

// plan is what the walker is about to do with the current frame, if it is a step that can
// be kept: by a compact rule without flags, whose CFA is relative to the stack pointer or
// to the frame pointer. Such a step depends on nothing but that register, the words at the
// places that the rule names, and the Space.
type plan struct {
	rule  Rule
	cfa   Addr
	frame trailFrame
	ok    bool
}

// make looks at the walker's current frame.
func (p *plan) make(w *Walker) {
	if w.key == 0 {
		return // before the first frame
	}
	if w.cur.key != w.key { // another walk has used the slot meanwhile
		w.cur = w.space.lookup(w.regs.PC, w.caller, false)
	}
	info := w.regs.Arch.info()
	r := w.cur.rule
	known := uint64(1)<<info.sp | 1<<(r.CFAReg%NumRegs)
	if r.Flags != 0 || r.CFAReg != info.sp && r.CFAReg != info.fp || w.regs.Known&known != known {
		return
	}
	p.rule, p.ok = r, true
	p.cfa = w.regs.Val[r.CFAReg%NumRegs] + uint64(int64(r.CFAOff))
	p.frame = trailFrame{
		pc: w.regs.PC, sp: w.regs.Val[info.sp%NumRegs], fp: w.regs.Val[info.fp%NumRegs],
		method: w.method, caller: w.caller, needFP: r.CFAReg == info.fp,
	}
}

// done reports whether the walker has made the step that was planned. It may have refused the
// caller that it led to, and searched: then the stack pointer is another one, or the method
// is, because what a search believes is a word that follows a call, which the refused one
// does not.
func (p *plan) done(w *Walker) bool {
	return p.ok && w.caller && w.method == p.rule.Method && w.knowsSP() && w.regs.SP() == p.cfa && p.cfa > p.frame.sp
}

// dropFresh forgets what was gathered: no step on a trail may be missing.
func (t *Trail) dropFresh() {
	t.fresh, t.freshWords = t.fresh[:0], t.freshWords[:0]
}

// note gathers the step that led to the walker's current frame.
func (t *Trail) note(p *plan) {
	w := t.w
	if !p.done(w) {
		t.dropFresh()
		return
	}
	if len(t.fresh) >= maxTrail {
		t.tooDeep = true
		t.dropFresh()
		return
	}
	info := w.regs.Arch.info()
	f := p.frame
	n := len(t.freshWords)
	if info.raOnStack {
		t.freshWords = append(t.freshWords, freshWord{p.cfa - 8, w.regs.PC, NoReg})
	}
	for i, units := range p.rule.Saved {
		reg := info.compact[i]
		if units == 0 || reg == NoReg {
			continue
		}
		t.freshWords = append(t.freshWords, freshWord{p.cfa - 8*uint64(units), w.regs.Val[reg%NumRegs], reg})
		f.rest |= 1 << reg
	}
	f.words = uint32(len(t.freshWords) - n)
	t.fresh = append(t.fresh, f)
}

// addLast begins the trail with the walk's last frame, which has that number.
func (t *Trail) addLast(w *Walker, number int) {
	if !w.knowsSP() {
		t.dropFresh()
		return
	}
	t.top = w.regs.SP()
	t.frames = append(t.frames, trailFrame{pc: w.regs.PC, sp: t.top, method: w.method, caller: w.caller})
	t.methods[w.method]++
	t.origin = number
}

// store moves what was gathered to the trail's inner end.
func (t *Trail) store() {
	fp := uint32(1) << (t.space.Arch.FP() % NumRegs)
	words := t.freshWords
	for i := len(t.fresh) - 1; i >= 0; i-- {
		f := t.fresh[i]
		outer := &t.frames[len(t.frames)-1]
		of := words[len(words)-int(f.words):]
		words = words[:len(words)-int(f.words)]
		f.needFP = f.needFP || outer.needFP && f.rest&fp == 0
		f.rest |= outer.rest
		f.words = uint32(len(t.words.val))
		t.frames = append(t.frames, f)
		t.methods[f.method]++
		for k := range of {
			t.storeWord(&of[k])
		}
	}
	if len(t.frames) > maxTrail {
		t.tooDeep = true
	}
	t.dropFresh()
}

// storeWord appends one word.
func (t *Trail) storeWord(w *freshWord) {
	below := t.top - w.at
	if below > math.MaxUint32 {
		t.tooDeep = true // wider than any stack
	}
	t.words.below = append(t.words.below, uint32(below))
	t.words.val = append(t.words.val, w.val)
	t.words.reg = append(t.words.reg, w.reg)
}
