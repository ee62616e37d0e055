// SPDX-License-Identifier: Apache-2.0

package look

import (
	"encoding/binary"
	"os"
	"slices"

	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// pieces copies by an outline, besides what another Extra copies.
type pieces struct {
	inner ptrace.Extra
	by    *outline
	need  int         // how much of the stack is copied where the outline does not help
	root  frames.Addr // where it has ended; 0: not known
	// changing: that may be another stack's end.
	changing bool

	places [ptrace.MaxPrefetch]frames.Region
	first  int // of places, those before are inner's
	n      int
	top    []byte      // the copy of the top
	pc, fp frames.Addr // where the thread is, and its frame pointer
	buf    []byte
	gap    []byte
	spare  []byte // the part of gap that is not in use
	rest   []byte // of that the part that the present try does not use
	floor  uint64 // of that so much is left
	// reached is how far a chain came.
	reached frames.Addr
	// furthest is how far chains came that led to no outermost frame.
	furthest frames.Addr
	// doubt is how far chains came that began further in than all that led to the outermost frame, and did not; 0: there
	// were none. beyond is where the last chain was to go on behind a large frame, whose end was not found; 0: nowhere.
	doubt, beyond frames.Addr
	// lost: no chain led to the outermost frame.
	lost bool
	// left is how many frames the search may still pass: it is made in the stop.
	left int
	// sure: one that began in the frame that the thread is in did. Other places are tried if they are known as such.
	sure bool
	led  bool // one did, wherever it began
	// passed are the stack pointers of chains that led to the outermost frame, failed those of others.
	passed, failed words
	// path are the stack pointers of the last chain that lie in the top, inTop so many.
	path  [maxChain]frames.Addr
	inTop int
	sizes [mostGuesses]frames.Addr // that are tried for a frame
	// likely are those that lead on; alts are the nAlts places where the chain goes on with others than it has taken.
	likely []likely
	alts   [maxAlternatives]alternative
	nAlts  int
	// spots are the places of the marks of foreseen that the kernel was asked about before the stop, until when all of
	// them are known to be there (CLOCK_MONOTONIC, ns).
	spots    [procmem.MostPlaces]uint64
	there    [procmem.MostPlaces]bool
	foreseen *outline
	until    int64
}

// reserve makes room for the next look, before anybody is stopped.
func (p *pieces) reserve(need int) {
	if p.buf == nil {
		p.buf = make([]byte, pieceBytes)
		touch(p.buf)
		p.likely = make([]likely, 0, mostGuesses)
	}
	if need = max(need, mostBridge) + endBytes; len(p.gap) < need {
		p.gap = make([]byte, need)
		touch(p.gap)
	}
}

// foresee asks, before anybody is stopped, whether the pages are there that the ends of an outline's frames lie in.
// Then they are read in one call of the kernel, which would else wait for a page that somebody has to provide.
func (p *pieces) foresee(m *procmem.Memory, by *outline) {
	p.foreseen, p.until = by, 0
	if m == nil {
		return
	}
	const size = pieceBelow + pieceAbove
	n, page := uint64(0), uint64(os.Getpagesize())
	for i := range by.marks {
		at := by.marks[i].at - pieceBelow
		if n > 0 && at/page == p.spots[n-1]/page && (at+size-1)/page == (p.spots[n-1]+size-1)/page {
			continue
		}
		if n == uint64(len(p.spots)) {
			return
		}
		p.spots[n], n = at, n+1
	}
	until := m.ForeseePlaces(p.spots[:n], size, p.there[:n])
	if !slices.Contains(p.there[:n], false) {
		p.until = until
	}
}

// Foreseen implements [ptrace.Foreseer].
func (p *pieces) Foreseen() int64 {
	if p.first > 0 || p.foreseen != p.by {
		return 0
	}
	return p.until
}

// Prefetch implements [ptrace.Prefetcher].
func (p *pieces) Prefetch(regs *frames.Regs) []frames.Region {
	p.first, p.n = 0, 0
	if f, ok := p.inner.(ptrace.Prefetcher); ok {
		p.first = copy(p.places[:], f.Prefetch(regs))
	}
	p.n = p.first
	beyond, buf := regs.SP()-redZone+uint64(len(p.top)), p.buf
	if p.endsNear(beyond) {
		return p.places[:p.n]
	}
	for i := range p.by.marks {
		at := p.by.marks[i].at
		if at <= beyond {
			continue
		}
		from, end := max(at-pieceBelow, beyond), at+pieceAbove
		last := &p.places[max(p.n-1, 0)]
		if joined := last.Addr + uint64(len(last.Bytes)); p.n > p.first && from <= joined+pieceJoins {
			more := end - joined
			if uint64(len(buf)) < more {
				break
			}
			last.Bytes, buf = last.Bytes[:uint64(len(last.Bytes))+more], buf[more:]
			continue
		}
		if p.n == p.first+maxPieces || uint64(len(buf)) < end-from {
			break
		}
		p.places[p.n] = frames.Region{Addr: from, Bytes: buf[:end-from]}
		p.n, buf = p.n+1, buf[end-from:]
	}
	return p.places[:p.n]
}

// StackEnd implements [ptrace.StackEnder].
func (p *pieces) StackEnd(regs *frames.Regs, rd *ptrace.Reader) uint64 {
	return stackEnd(p.inner, regs, rd)
}

// Reads implements [ptrace.ManyReads].
func (p *pieces) Reads() int { return max(readsOf(p.inner), pieceReads) }

// Regions implements [ptrace.Extra].
func (p *pieces) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := 0
	if p.inner != nil {
		n = p.inner.Regions(regs, rd, out)
	}
	from, copied := rd.Stack()
	if rd.Prefetched() {
		n += copy(out[n:], p.places[p.first:p.n])
	}
	p.lost = false
	if p.pc, p.fp = regs.PC, regs.Val[regs.Arch.FP()%frames.NumRegs]; copied < len(p.top) {
		return n // the stack ends
	}
	if rest, ok := p.toRoot(rd, from+uint64(copied)); ok {
		if len(rest.Bytes) > 0 {
			out[n] = rest
			n++
		}
		return n
	}
	have := frames.Snapshot{Stack: frames.Region{Addr: from, Bytes: p.top}, Others: out[:n]}
	p.goAlong(rd, &have, out)
	return len(have.Others)
}

// goAlong copies what frames need from the top on, and where no chain of known ones leads to the outermost, what may be
// needed.
func (p *pieces) goAlong(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region) {
	n, beyond := len(have.Others), have.Stack.Addr+uint64(len(have.Stack.Bytes))
	reached, ok := p.follow(rd, have, out)
	if p.lost = !ok; ok {
		p.removeDoubt(rd, have, out)
		return
	}
	if n < len(out) && p.shallow(beyond, mostInFull) {
		if rest, ok := p.upToRoot(rd, beyond); ok {
			out[n], have.Others = rest, out[:n+1] // what chains have copied besides is in it
			return
		}
	}
	p.bridge(rd, have, out, reached)
}

// removeDoubt copies on a little where chains ended that may be the thread's: those that led to the outermost frame may
// be what is left of frames that have ended.
func (p *pieces) removeDoubt(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region) {
	top := have.Stack.Addr + uint64(len(have.Stack.Bytes))
	size := min(doubtCopy, len(p.spare))
	if p.doubt <= top || p.root != 0 && p.doubt >= p.root || len(have.Others) == len(out) || size == 0 {
		return
	}
	if p.root != 0 {
		size = min(size, int(p.root+copyMargin-p.doubt))
	}
	p.spare, p.rest = p.spare[:size], p.spare[size:]
	p.lost = !p.grow(rd, have, out, p.doubt)
}

// toRoot copies what follows up to where the stack has ended, if that is so near that it is no more than of any stack.
// To look for the ends of frames there takes longer, and is not needed. False: it is not so, or not known.
func (p *pieces) toRoot(rd *ptrace.Reader, from frames.Addr) (rest frames.Region, ok bool) {
	if !p.endsNear(from) {
		return rest, false
	}
	if p.root+copyMargin <= from {
		return rest, true
	}
	return p.upToRoot(rd, from)
}

// endsNear reports whether it is known that the stack has ended so near behind a top that ends there.
func (p *pieces) endsNear(from frames.Addr) bool {
	return p.shallow(from, leastCopy-topCopy) && p.root+topCopy >= from
}

// shallow reports whether it is known where the stack has ended, and that this is no further away.
func (p *pieces) shallow(from frames.Addr, most uint64) bool {
	return p.root != 0 && !p.changing && p.root+copyMargin <= from+most
}

// upToRoot copies what lies between; false if not all of it can be had.
func (p *pieces) upToRoot(rd *ptrace.Reader, from frames.Addr) (rest frames.Region, ok bool) {
	if p.root+copyMargin <= from {
		return rest, false
	}
	b := p.gap[:p.root+copyMargin-from]
	return frames.Region{Addr: from, Bytes: b}, rd.Read(from, b) == len(b)
}

// bridge copies what follows from a place on, until a return address there leads to the outermost frame. It copies at
// most up to where the stack has ended, if that is not far. Else it does so up to a frame that is where it was in an
// earlier walk, and from which the outermost can be reached. Else it copies as much as the last walks needed.
func (p *pieces) bridge(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, from frames.Addr) {
	whole := max(len(p.spare)-endBytes, 0)
	size := max(min(p.need, whole)-len(have.Stack.Bytes), 0)
	if from > have.Stack.Addr+uint64(len(have.Stack.Bytes)) {
		size = min(size, wholeCopy) // some large frames are already passed
	}
	if left := p.root + copyMargin - from; p.root > from && left <= mostBridge {
		size = min(int(left), whole)
	} else if joint := p.joins(rd, have, out, from); joint != 0 {
		size = min(whole, int(joint-from))
	}
	if n := len(have.Others); size > 0 && n < len(out) {
		p.spare, p.rest = p.spare[:size], p.spare[size:]
		p.grow(rd, have, out, from)
	}
}

// joins gives the end of a frame further out that is where it was in an earlier walk, 0 if there is none. The outermost
// can be reached from there, and what leads there has been copied.
func (p *pieces) joins(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, from frames.Addr) frames.Addr {
	first, tries := len(have.Others), maxJoins
	for i := 0; i < len(p.by.marks) && tries > 0 && p.left > 0; i++ {
		m := &p.by.marks[i]
		if v, ok := have.Word(m.at - 8); m.at <= from || !ok || v != m.pc {
			continue
		}
		if tries--; p.chain(rd, have, out, m.pc, m.at) {
			p.spare = p.rest
			return m.at
		}
		have.Others = out[:first]
	}
	return 0
}

// grow copies into all of p.spare, in steps that become larger, until a return address in what is new leads to the
// outermost frame. What lies at the ends of these frames goes to p.rest.
func (p *pieces) grow(
	rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, from frames.Addr,
) (found bool) {
	n, to, done := len(have.Others), p.spare, 0
	have.Others = out[:n+1]
	p.spare, p.floor = p.rest, floorOf(p.rest)
	for step := firstGrowth; done < len(to) && !found; step += step / 2 {
		if step = min(step, len(to)-done); rd.Left() <= readsKept || p.left <= 0 {
			step = len(to) - done
		}
		got := rd.Read(from+uint64(done), to[done:done+step])
		out[n] = frames.Region{Addr: from, Bytes: to[:done+got]}
		found = p.scan(rd, have, out, from+uint64(done), to[done:done+got])
		if done += got; got < step {
			break
		}
	}
	return found
}

// floorOf gives how much of what is spare has to be left by chains, so that they copy mostFollowed at most.
func floorOf(spare []byte) uint64 { return uint64(max(len(spare)-mostFollowed, 0)) }

// start is where a chain begins: a return address, and the stack pointer behind it.
type start struct{ pc, sp frames.Addr }

// follow goes from frame to frame, and copies what of their outer ends was not copied; false if that does not lead to
// an outermost frame. Then it gives how far it came beyond large frames, and has copied what lies before.
func (p *pieces) follow(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region) (reached frames.Addr, ok bool) {
	top := have.Stack.Addr + uint64(len(have.Stack.Bytes))
	p.spare, p.furthest = p.gap, top+largeFrom
	p.floor = floorOf(p.gap)
	p.passed, p.failed, p.left = words{}, words{}, maxSearch
	p.doubt, p.led = 0, false
	if p.by.steps.knowsFunction(p.pc) {
		ok = p.try(rd, have, out, start{p.pc, have.Stack.Addr + redZone})
	}
	p.sure = ok
	ok = p.scan(rd, have, out, have.Stack.Addr+redZone, have.Stack.Bytes[redZone:]) || ok
	p.sure = false
	if p.furthest == top+largeFrom {
		return top, ok
	}
	return p.furthest, ok
}

// try goes along the chain that begins at a place, and reports whether that leads to the outermost frame. It keeps what
// it has copied then, and if it got further than others did.
func (p *pieces) try(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, s start) bool {
	n := len(have.Others)
	ok := p.chain(rd, have, out, s.pc, s.sp)
	if ok {
		p.passed.mark(have, p.path[:p.inTop])
		p.led = true
	} else {
		p.failed.mark(have, p.path[:p.inTop])
		if !p.led {
			p.doubt = max(p.doubt, p.reached, p.beyond)
		}
	}
	switch {
	case ok:
	case !p.sure && p.reached > p.furthest && (p.root == 0 || p.reached <= p.root):
		p.furthest = p.reached
	default:
		have.Others = out[:n]
		return false
	}
	p.spare = p.rest
	return ok
}

// scan tries the return addresses among words at an address; true if one of them leads to the outermost frame.
//
// What is left of frames that have ended can lead there, too, past live ones that have taken their place. So all begin
// a chain that are in none yet.
func (p *pieces) scan(
	rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, at frames.Addr, b []byte,
) (ok bool) {
	for starts, tries := 0, 0; len(b) >= 8 && starts < maxStarts && tries < maxTries && p.left > 0; {
		v := binary.LittleEndian.Uint64(b)
		b, at = b[8:], at+8
		if !p.by.steps.maybe(v) || p.passed.has(have, at) || p.failed.has(have, at) ||
			p.by.steps.find(v).pc == 0 && (p.sure || !p.by.steps.isLarge(v)) {
			continue
		}
		tries++
		ok = p.try(rd, have, out, start{v, at}) || ok
		if p.reached != 0 {
			starts++
		}
	}
	return ok
}

// words has a bit for each word of the top.
type words [topCopy / 8 / 64]uint64

// mark marks the frames in the top that the last chain has passed.
func (w *words) mark(have *frames.Snapshot, path []frames.Addr) {
	for _, sp := range path {
		at := (sp - have.Stack.Addr) / 8
		w[at/64] |= 1 << (at % 64)
	}
}

// has reports whether a stack pointer in the top is marked.
func (w *words) has(have *frames.Snapshot, sp frames.Addr) bool {
	at := sp - have.Stack.Addr
	return at < topCopy && w[at/8/64]&(1<<(at/8%64)) != 0
}

// chain goes from one return address and the stack pointer behind it to the outermost frame; false if it does not get
// there. Where a frame may have several sizes it goes on with each.
func (p *pieces) chain(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, pc, sp frames.Addr) bool {
	p.rest, p.reached, p.beyond, p.inTop, p.nAlts = p.spare, 0, 0, 0, 0
	ok := p.goOn(rd, have, out, pc, sp, false)
	for tries := 0; p.nAlts > 0 && tries < maxAlternatives && p.left > 0; tries++ {
		p.nAlts--
		a := &p.alts[p.nAlts]
		if !ok {
			p.inTop = a.inTop
		}
		n, rest, inTop := len(have.Others), p.rest, p.inTop
		if p.goOn(rd, have, out, a.pc, a.sp, true) {
			ok = true
			continue
		}
		have.Others, p.rest, p.inTop = out[:n], rest, inTop
	}
	return ok
}

// goOn is chain with one size for each frame. met: other chains may have come to the same place.
func (p *pieces) goOn(
	rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, pc, sp frames.Addr, met bool,
) bool {
	for ; p.left > 0; p.left-- {
		switch { // another one has gone on from here
		case met && p.passed.has(have, sp):
			return true
		case met && p.failed.has(have, sp):
			return false
		}
		met = true
		if sp-have.Stack.Addr < topCopy && p.inTop < len(p.path) {
			p.path[p.inTop] = sp
			p.inTop++
		}
		size := p.by.steps.find(pc).size
		if size == 0 || size == sizeVaries || size >= largeFrom && size < mostCopy && p.by.steps.functions().varies(pc) {
			size = p.guess(rd, have, out, pc, sp)
		}
		switch {
		case size == sizeRoot:
			return true
		case size == 0 || size >= mostCopy: // it is not known, or not the same each time
			return false
		}
		sp += size
		v, ok := endOf(have, sp)
		if !ok {
			if v, ok = p.copyEnd(rd, have, out, sp, size); !ok {
				return false
			}
		}
		if pc = v; size >= largeFrom || p.by.steps.find(v).pc != 0 {
			p.reached = max(p.reached, sp)
		}
	}
	return false
}

// endOf gives the return address at the outer end of a frame, if that was copied with the registers that are saved
// there.
func endOf(have *frames.Snapshot, end frames.Addr) (pc frames.Addr, ok bool) {
	from := end - savedBelow
	if s := &have.Stack; from-s.Addr < uint64(len(s.Bytes)) {
		return inPiece(s, from)
	}
	for i := range have.Others {
		if pc, ok = inPiece(&have.Others[i], from); ok {
			return pc, true
		}
	}
	for ok = true; ok && from < end; from += 8 { // in two that lie side by side
		pc, ok = have.Word(from)
	}
	return pc, ok
}

// inPiece is endOf for one piece and the address from which on it is to have all.
func inPiece(r *frames.Region, from frames.Addr) (pc frames.Addr, ok bool) {
	n, at := uint64(len(r.Bytes)), from-r.Addr
	if at >= n || n-at < savedBelow {
		return 0, false
	}
	return binary.LittleEndian.Uint64(r.Bytes[at+savedBelow-8:]), true
}

// copyEnd copies the outer end of a frame of that size, and a little beyond. It gives the return address there. Where
// frames are small, their callers' mostly are, too: then it copies more of these.
func (p *pieces) copyEnd(
	rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, end, size frames.Addr,
) (pc frames.Addr, ok bool) {
	below, above, n := frames.Addr(pieceBelow), frames.Addr(endAbove), len(have.Others)
	if size < smallFrame {
		below, above = fewBelow, manyAbove
	}
	from := beyondLast(have, end-below, end)
	bytes := end + above - from
	if n == len(out) || uint64(len(p.rest)) < bytes+p.floor || rd.Left() <= readsKept {
		return 0, false
	}
	b := p.rest[:bytes]
	if b = b[:rd.Read(from, b)]; from+uint64(len(b)) < end {
		return 0, false
	}
	out[n], p.rest = frames.Region{Addr: from, Bytes: b}, p.rest[bytes:]
	have.Others = out[:n+1]
	return have.Word(end - 8)
}

// beyondLast gives where a piece is to begin that is wanted from one address to another: not before the end of what was
// copied last, or of the top.
func beyondLast(have *frames.Snapshot, from, to frames.Addr) frames.Addr {
	last := &have.Stack
	if n := len(have.Others); n > 0 && have.Others[n-1].Addr > last.Addr {
		last = &have.Others[n-1]
	}
	if ends := last.Addr + uint64(len(last.Bytes)); last.Addr <= from && ends > from && ends < to {
		return ends &^ 7
	}
	return from
}
