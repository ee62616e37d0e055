package frames

import (
	"math"
	"slices"
)

// trailFrame is a frame of a trail, with the step from there to its caller. While it is
// gathered, words is the number of words of its own step, and the properties of steps
// further out are those of that step alone.
type trailFrame struct {
	pc, sp   Addr
	fp       uint64 // the frame pointer's value
	words    uint32 // index of the first word that the step reads
	loses    uint32 // registers that the step leaves unknown
	restored uint32 // registers that this step restores, or one further out
	lost     uint32 // registers that this step loses, or one further out
	method   Method // how the frame was found
	caller   bool
	needFP   bool // this step needs fp, or one further out before it is restored
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

// freshSteps are the steps that a walk has made since the last one that cannot be kept,
// innermost first. They are the Walker's, so that the trails of many threads share the room.
type freshSteps struct {
	frames []trailFrame
	words  []freshWord
}

// cut leaves the first n words.
func (w *trailWords) cut(n int) {
	w.below, w.val, w.reg = w.below[:n], w.val[:n], w.reg[:n]
}

// grow makes room for n more words.
func (w *trailWords) grow(n int) {
	n += len(w.val)
	w.below = slices.Grow(w.below, n-len(w.below))[:n]
	w.val = slices.Grow(w.val, n-len(w.val))[:n]
	w.reg = slices.Grow(w.reg, n-len(w.reg))[:n]
}

// plan is what the walker is about to do with the current frame, if it is a step that can
// be kept: by a rule without flags, compact or a plain row, whose CFA is relative to the
// stack pointer or to the frame pointer. Such a step depends on nothing but that register,
// the words at the places that the rule names, and the Space.
type plan struct {
	rule Rule
	row  *Row // the rule in full, if it is not compact
	cfa  Addr
	ok   bool
}

// plan gathers the walker's current frame, if the step from there can be kept.
func (t *Trail) plan(p *plan) {
	w := t.w
	if w.key == 0 {
		return // before the first frame
	}
	if w.cur.key != w.key { // another walk has used the slot meanwhile
		w.cur = w.space.lookup(w.regs.PC, w.caller, false)
	}
	r := &w.cur.rule
	known := uint64(1)<<t.spReg | 1<<(r.CFAReg%NumRegs)
	if r.CFAReg != t.spReg && r.CFAReg != t.fpReg || w.regs.Known&known != known {
		return
	}
	off := int64(r.CFAOff)
	if r.Flags&^FlagLoss != 0 {
		if r.Flags != FlagRow {
			return
		}
		if p.row = w.space.rows[r.row()]; !p.row.plain(w.regs.Arch.info(), r.CFAReg) {
			return
		}
		off = p.row.CFAOff
	}
	val := &w.regs.Val
	t.fresh.frames = append(t.fresh.frames, trailFrame{
		pc: w.regs.PC, sp: val[t.spReg%NumRegs], fp: val[t.fpReg%NumRegs],
		method: w.method, caller: w.caller, needFP: r.CFAReg == t.fpReg,
	})
	p.rule, p.cfa, p.ok = *r, val[r.CFAReg%NumRegs]+uint64(off), true
}

// plain reports whether a row only restores and loses registers that a callee keeps, and
// has their places, and that of the return address, at distances from the CFA.
func (row *Row) plain(info *archInfo, base uint8) bool {
	if row.CFAExpr != nil || row.CFADeref || row.CFAReg != base || row.RA.Kind != PlaceOffset {
		return false
	}
	for reg := range uint8(NumRegs) {
		switch row.Regs[reg].Kind {
		case PlaceSame:
		case PlaceUndefined:
			if reg == info.sp {
				return false
			}
		case PlaceOffset:
			if info.kept>>reg&1 == 0 && (reg != info.ra || info.raOnStack) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// dropFresh forgets what was gathered: no step on a trail may be missing.
func (t *Trail) dropFresh() {
	t.fresh.frames, t.fresh.words = t.fresh.frames[:0], t.fresh.words[:0]
}

// note gathers what the planned step has read, now that the walker has made it. The walker
// may have refused the caller that the rule led to, and searched: then the stack pointer is
// another one, or the method is, because what a search believes is a word that follows a
// call, which the refused one does not.
func (t *Trail) note(p *plan) {
	w := t.w
	if !p.ok || !w.caller || w.method != p.rule.Method || !w.knowsSP() || w.regs.SP() != p.cfa ||
		p.cfa <= t.fresh.frames[len(t.fresh.frames)-1].sp {
		t.dropFresh()
		return
	}
	if len(t.fresh.frames) >= maxTrail {
		t.tooDeep = true
		t.dropFresh()
		return
	}
	if p.row != nil {
		t.noteRow(p)
	} else {
		t.noteWords(p)
	}
}

// noteWords gathers the words that a step has read, for the innermost frame in t.fresh.
func (t *Trail) noteWords(p *plan) {
	regs := &t.w.regs
	info := regs.Arch.info()
	words := t.fresh.words
	if info.raOnStack {
		words = append(words, freshWord{p.cfa - 8, regs.PC, NoReg})
	}
	restored, loses := uint32(0), uint32(0)
	for i, units := range p.rule.Saved {
		if units == 0 {
			if p.rule.loses(i) {
				loses |= 1 << info.compact[i]
			}
			continue
		}
		if reg := info.compact[i]; reg < NumRegs {
			words = append(words, freshWord{p.cfa - 8*uint64(units), regs.Val[reg], reg})
			restored |= 1 << reg
		}
	}
	f := &t.fresh.frames[len(t.fresh.frames)-1]
	f.words, f.restored = uint32(len(words)-len(t.fresh.words)), restored
	f.loses, f.lost = loses, loses
	t.fresh.words = words
}

// noteRow is noteWords for a row.
func (t *Trail) noteRow(p *plan) {
	info := t.w.regs.Arch.info()
	f := &t.fresh.frames[len(t.fresh.frames)-1]
	n := len(t.fresh.words)
	t.noteWord(p.cfa+uint64(p.row.RA.Off), NoReg)
	for reg := range uint8(NumRegs) {
		switch place := &p.row.Regs[reg]; place.Kind {
		case PlaceOffset:
			t.noteWord(p.cfa+uint64(place.Off), reg)
			f.restored |= 1 << reg
		case PlaceUndefined:
			f.loses |= 1 << reg & uint32(info.kept)
		}
	}
	f.lost = f.loses
	f.words = uint32(len(t.fresh.words) - n)
}

// noteWord gathers a word that the walker has just read.
func (t *Trail) noteWord(at Addr, reg uint8) {
	v, _ := t.w.mem.Word(at)
	t.fresh.words = append(t.fresh.words, freshWord{at, v, reg})
}

// dropPlanned forgets the frame of a step that the walk has ended at.
func (t *Trail) dropPlanned(p *plan) {
	if p.ok {
		t.fresh.frames = t.fresh.frames[:len(t.fresh.frames)-1]
	}
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
	if len(t.frames) == 0 {
		return
	}
	fp := uint32(1) << (t.fpReg % NumRegs)
	at := len(t.words.val)
	t.words.grow(len(t.fresh.words))
	from := len(t.fresh.words)
	t.frames = slices.Grow(t.frames, len(t.fresh.frames))
	outer := &t.frames[len(t.frames)-1]
	for i := len(t.fresh.frames) - 1; i >= 0; i-- {
		f := &t.fresh.frames[i]
		n := int(f.words)
		from -= n
		t.storeWords(at, t.fresh.words[from:from+n])
		t.methods[f.method]++
		t.frames = append(t.frames, *f)
		to := &t.frames[len(t.frames)-1] // changed where it is: a copy of what was just written stalls
		to.needFP = f.needFP || outer.needFP && (f.restored|f.loses)&fp == 0
		to.restored |= outer.restored
		to.lost |= outer.lost
		to.words = uint32(at)
		at += n
		outer = to
	}
	if len(t.frames) > maxTrail {
		t.tooDeep = true
	}
	t.dropFresh()
}

// storeWords puts the words of one step to their place.
func (t *Trail) storeWords(at int, words []freshWord) {
	w := &t.words
	below, val, reg := w.below[at:], w.val[at:], w.reg[at:]
	for i := range words {
		d := t.top - words[i].at
		if d > math.MaxUint32 {
			t.tooDeep = true // wider than any stack
		}
		below[i], val[i], reg[i] = uint32(d), words[i].val, words[i].reg
	}
}
