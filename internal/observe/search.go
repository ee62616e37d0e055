// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/ptrace"
)

// search follows a stopped thread's frames.
type search struct {
	by       *outline
	need     int         // bytes to copy without help of the outline
	root     frames.Addr // end of the stack; 0: not known
	changing bool
	lost     bool

	gap   []byte
	spare []byte // unused
	rest  []byte // unused by this try
	floor uint64 // least rest
	left  int    // frames left to pass

	reached  frames.Addr
	furthest frames.Addr // by failed chains
	// doubt is how far failed chains came that began before all others; 0: none.
	doubt frames.Addr
	led   bool // one succeeded
	// Stack pointers of successful and failed chains.
	passed, failed words
	// Stack pointers of the last chain in the top.
	path  [maxChain]frames.Addr
	inTop int
}

func (p *search) goAlong(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region) {
	n, beyond := len(have.Others), have.Stack.Addr+uint64(len(have.Stack.Bytes))
	reached, ok := p.follow(rd, have, out)
	if p.lost = !ok; ok {
		p.removeDoubt(rd, have, out)
		return
	}
	if n < len(out) && p.shallow(beyond, mostInFull) {
		if rest, ok := p.upToRoot(rd, beyond); ok {
			out[n], have.Others = rest, out[:n+1]
			return
		}
	}
	p.bridge(rd, have, out, reached)
}

// removeDoubt copies beyond failed chains: they may be real, and the others remains of ended frames.
func (p *search) removeDoubt(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region) {
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

// toRoot copies all up to the known end, if near: faster than finding frame ends.
func (p *search) toRoot(rd *ptrace.Reader, from frames.Addr) (rest frames.Region, ok bool) {
	if !p.endsNear(from) {
		return rest, false
	}
	if p.root+copyMargin <= from {
		return rest, true
	}
	return p.upToRoot(rd, from)
}

func (p *search) endsNear(from frames.Addr) bool {
	return p.shallow(from, leastCopy-topCopy) && p.root+topCopy >= from
}

func (p *search) shallow(from frames.Addr, most uint64) bool {
	return p.root != 0 && !p.changing && p.root+copyMargin <= from+most
}

func (p *search) upToRoot(rd *ptrace.Reader, from frames.Addr) (rest frames.Region, ok bool) {
	if p.root+copyMargin <= from {
		return rest, false
	}
	b := p.gap[:p.root+copyMargin-from]
	return frames.Region{Addr: from, Bytes: b}, rd.Read(from, b) == len(b)
}

// bridge copies on until a return address leads to the outermost frame: up to the known end, if near; else up to a
// frame of an earlier walk; else as much as the last walks needed.
func (p *search) bridge(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, from frames.Addr) {
	whole := max(len(p.spare)-endBytes, 0)
	size := max(min(p.need, whole)-len(have.Stack.Bytes), 0)
	if from > have.Stack.Addr+uint64(len(have.Stack.Bytes)) {
		size = min(size, wholeCopy)
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

// joins gives the end of a frame at its place of an earlier walk that leads to the outermost; 0: none.
func (p *search) joins(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, from frames.Addr) frames.Addr {
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

// grow copies into p.spare in growing steps, until a new return address leads to the outermost frame. Frame ends go to
// p.rest.
func (p *search) grow(
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

// floorOf limits chains to mostFollowed.
func floorOf(spare []byte) uint64 { return uint64(max(len(spare)-mostFollowed, 0)) }

type start struct{ pc, sp frames.Addr }

// follow copies frame ends; false if no chain leads to the outermost frame. reached is then beyond large frames.
func (p *search) follow(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region) (reached frames.Addr, ok bool) {
	top := have.Stack.Addr + uint64(len(have.Stack.Bytes))
	p.spare, p.furthest = p.gap, top+largeFrom
	p.floor = floorOf(p.gap)
	p.passed, p.failed, p.left = words{}, words{}, maxSearch
	p.doubt, p.led = 0, false
	ok = p.scan(rd, have, out, have.Stack.Addr+redZone, have.Stack.Bytes[redZone:])
	if p.furthest == top+largeFrom {
		return top, ok
	}
	return p.furthest, ok
}

// try follows a chain, and keeps its copies if it succeeds, or got furthest.
func (p *search) try(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, s start) bool {
	n := len(have.Others)
	ok := p.chain(rd, have, out, s.pc, s.sp)
	if ok {
		p.passed.mark(have, p.path[:p.inTop])
		p.led = true
	} else {
		p.failed.mark(have, p.path[:p.inTop])
		if !p.led {
			p.doubt = max(p.doubt, p.reached)
		}
	}
	switch {
	case ok:
	case p.reached > p.furthest && (p.root == 0 || p.reached <= p.root):
		p.furthest = p.reached
	default:
		have.Others = out[:n]
		return false
	}
	p.spare = p.rest
	return ok
}

// scan tries the return addresses in words at an address; true if one leads to the outermost frame. Remains of ended
// frames do, too, so all are tried.
func (p *search) scan(
	rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, at frames.Addr, b []byte,
) (ok bool) {
	for starts, tries := 0, 0; len(b) >= 8 && starts < maxStarts && tries < maxTries && p.left > 0; {
		v := binary.LittleEndian.Uint64(b)
		b, at = b[8:], at+8
		if !p.by.steps.maybe(v) || p.passed.has(have, at) || p.failed.has(have, at) || p.by.steps.size(v) == 0 {
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

type words [topCopy / 8 / 64]uint64

func (w *words) mark(have *frames.Snapshot, path []frames.Addr) {
	for _, sp := range path {
		at := (sp - have.Stack.Addr) / 8
		w[at/64] |= 1 << (at % 64)
	}
}

func (w *words) has(have *frames.Snapshot, sp frames.Addr) bool {
	at := sp - have.Stack.Addr
	return at < topCopy && w[at/8/64]&(1<<(at/8%64)) != 0
}

// chain is false if it does not reach the outermost frame.
func (p *search) chain(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, pc, sp frames.Addr) bool {
	p.rest, p.reached, p.inTop = p.spare, 0, 0
	for ; p.left > 0; p.left-- {
		if sp-have.Stack.Addr < topCopy && p.inTop < len(p.path) {
			p.path[p.inTop] = sp
			p.inTop++
		}
		size := p.by.steps.size(pc)
		switch {
		case size == sizeRoot:
			return true
		case size == 0 || size >= mostCopy: // not known, or varies
			return false
		}
		sp += size
		v, ok := endOf(have, sp)
		if !ok {
			if v, ok = p.copyEnd(rd, have, out, sp, size); !ok {
				return false
			}
		}
		if pc = v; size >= largeFrom || p.by.steps.size(v) != 0 {
			p.reached = max(p.reached, sp)
		}
		switch { // joins another chain
		case p.passed.has(have, sp):
			return true
		case p.failed.has(have, sp):
			return false
		}
	}
	return false
}

// endOf gives the return address at a frame's outer end, if copied with the saved registers.
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
	for ok = true; ok && from < end; from += 8 { // in adjacent regions
		pc, ok = have.Word(from)
	}
	return pc, ok
}

func inPiece(r *frames.Region, from frames.Addr) (pc frames.Addr, ok bool) {
	n, at := uint64(len(r.Bytes)), from-r.Addr
	if at >= n || n-at < savedBelow {
		return 0, false
	}
	return binary.LittleEndian.Uint64(r.Bytes[at+savedBelow-8:]), true
}

// copyEnd copies a frame's outer end, and gives the return address. Callers of small frames are mostly small: it copies
// more.
func (p *search) copyEnd(
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

// beyondLast moves a piece's begin behind the last copy.
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
