package frames

import "encoding/binary"

// comparison is how far a walk's copy of the stack was compared with the trail.
type comparison struct {
	bytes []byte // the region that is compared; nil until one was chosen
	addr  Addr   // its address
	begin int    // words of the trail from here
	end   int    // to here are unchanged
}

// join is Join for a frame that may lie on the trail.
func (t *Trail) join() bool {
	w := t.w
	if t.joined >= 0 || w.regs.Known&(1<<t.spReg) == 0 || t.space.version != t.version || !t.find() {
		return false
	}
	i := t.next
	last, ok := t.reach(i)
	if !ok {
		return false
	}
	if k := t.unchanged(last, i); k < i {
		t.expect(k)
		return false
	}
	t.skipTo(i, last)
	return true
}

// find looks for the walker's current frame on the trail, from t.next outward, and leaves
// its index there.
func (t *Trail) find() bool {
	regs := &t.w.regs
	sp := regs.Val[t.spReg%NumRegs]
	i := t.next
	for i >= t.first+minSkip && t.frames[i].sp < sp {
		i--
	}
	t.expect(i)
	if sp != t.nextSP || i < t.first+minSkip {
		return false
	}
	f := &t.frames[i]
	if f.pc != regs.PC || f.caller != t.w.caller {
		return false
	}
	fp, known := regs.Get(t.fpReg)
	return !f.needFP || known && fp == f.fp
}

// reach gives the outermost frame that may be skipped to from frame i: within the limit of
// depth, and within the copied memory.
func (t *Trail) reach(i int) (last int, ok bool) {
	if t.part.bytes == nil && !t.choose(t.frames[i-1].sp-8) {
		t.expect(-1)
		return 0, false
	}
	last = t.first
	if left := t.w.limit - t.w.depth; i-last > left {
		last = i - left
	}
	for last < i && t.frames[last].sp-t.part.addr > uint64(len(t.part.bytes)) {
		last++
	}
	return last, i-last >= minSkip
}

// choose takes the region that the walker would read the word at addr from; false if there
// is none, or if it would read some words of that region from another one.
func (t *Trail) choose(addr Addr) bool {
	s := t.w.snap
	r := &s.Stack
	if _, ok := r.word(addr); ok {
		t.part = comparison{bytes: r.Bytes, addr: r.Addr}
		return true
	}
	for i := range s.Others {
		o := &s.Others[i]
		if _, ok := o.word(addr); !ok {
			continue
		}
		for k := range i {
			if o.overlaps(&s.Others[k]) {
				return false
			}
		}
		t.part = comparison{bytes: o.Bytes, addr: o.Addr}
		return !o.overlaps(r)
	}
	return false
}

// overlaps reports whether two regions have an address in common.
func (r *Region) overlaps(o *Region) bool {
	return o.Addr-r.Addr < uint64(len(r.Bytes)) || r.Addr-o.Addr < uint64(len(o.Bytes))
}

// unchanged gives the innermost frame, i at most, for which no word that was read from
// there to frame last has changed.
func (t *Trail) unchanged(last, i int) int {
	begin, end := int(t.frames[last+1].words), t.wordsEnd(i)
	c := &t.part
	if c.end == 0 || begin < c.begin {
		c.begin, c.end = begin, begin
	}
	c.end = max(c.end, begin)
	if c.end >= end {
		return i
	}
	c.end += differs(c.bytes, t.top-c.addr, t.words.below[c.end:end], t.words.val[c.end:end])
	for c.end < end && int(t.frames[i].words) > c.end {
		i-- // the change is further out
	}
	if c.end < end {
		i--
	}
	return i
}

// wordsEnd gives the index behind the last word of frame i.
func (t *Trail) wordsEnd(i int) int {
	if i+1 < len(t.frames) {
		return int(t.frames[i+1].words)
	}
	return len(t.words.val)
}

// differs gives the index of the first word that is not as it was, or cannot be read. top is
// the place in b that the words lie below. It is written so that the compiler needs no
// further checks of bounds.
func differs(b []byte, top uint64, below []uint32, val []uint64) int {
	val = val[:len(below)]
	last := len(b) - 8
	for i, d := range below {
		at := int(top - uint64(d))
		if at < 0 || at > last || binary.LittleEndian.Uint64(b[at:at+8]) != val[i] {
			return i
		}
	}
	return len(below)
}

// skipTo puts the walker from frame i, where it is, to frame last.
func (t *Trail) skipTo(i, last int) {
	w := t.w
	t.joined, t.number = i, w.depth-1
	t.came(&t.frames[i], w.method)
	t.restore(i, last)
	w.depth += i - last
	w.enter(t.frames[last].method, t.frames[last].caller)
	t.skip = Skipped{From: t.origin - (i - 1), N: i - last, Methods: t.methods}
	for k := t.first; k < last; k++ {
		t.skip.Methods[t.frames[k].method]--
	}
	for k := i; k < len(t.frames); k++ {
		t.skip.Methods[t.frames[k].method]--
	}
	t.expect(-1)
}

// came notes that this walk has found a frame of the trail in that way, which may be another
// than the last time.
func (t *Trail) came(f *trailFrame, m Method) {
	t.methods[f.method]--
	t.methods[m]++
	f.method = m
}

// restore gives the walker the registers that the steps from frame i to frame last leave: for
// each one what the outermost step has done to it.
func (t *Trail) restore(i, last int) {
	regs := &t.w.regs
	info := regs.Arch.info()
	regs.Known &= info.kept
	value, known := t.frames[i].restored, t.frames[i].restored|t.frames[i].lost // not yet settled
	for k := last + 1; k <= i && value|known != 0; k++ {
		f := &t.frames[k]
		for at, end := int(f.words), t.wordsEnd(k); at < end; at++ {
			bit := uint32(1) << t.words.reg[at]
			if value&bit != 0 {
				regs.Val[t.words.reg[at]%NumRegs] = t.words.val[at]
			}
			regs.Known |= uint64(known & bit)
			value, known = value&^bit, known&^bit
		}
		regs.Known &^= uint64(known & f.loses)
		known &^= f.loses
	}
	if !info.raOnStack {
		regs.Known &^= 1 << info.ra
	}
	regs.Set(info.sp, t.frames[last].sp)
	regs.PC = t.frames[last].pc
}
