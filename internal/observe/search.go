// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/binary"

	"prywalk/frames"
)

// Bounds of a search in a stop, in bytes unless stated.
const (
	maxStarts    = 24        // chains of more than one frame
	maxTries     = 400       // chains
	maxJoins     = 4         // chains from frames at their places of earlier walks
	maxSearch    = 1024      // frames of all chains
	readsKept    = 2         // reads reserved for a copy in one piece
	maxSteppedTo = 40        // regions of ends at new places
	mostFollowed = 40 << 10  // copied for ends at new places
	mostInFull   = 128 << 10 // copied beyond a top without known frames
	mostBridge   = 5 << 18   // copied by bridge
	failedCopy   = 10 << 10  // copied beyond failed chains
	firstGrowth  = 4 << 10   // first read where frames are unknown
	endBytes     = mostFollowed + pieceBelow + manyAbove
)

// What is copied around a frame's outer end at a new place, in bytes.
const (
	endAbove   = 512
	manyAbove  = 1024 // after a small frame: its callers are mostly small
	fewBelow   = 128  // pieceBelow after a small frame
	smallFrame = 2 << 10
	largeFrom  = 16 << 10 // a frame of this size is large
	savedBelow = 64       // return address, and the registers that most functions save
)

// search copies the frame ends of a stopped thread by following chains of frames. A chain succeeds if it reaches the
// outermost frame.
type search struct {
	have     stopCopy
	by       *outline
	need     int         // bytes to copy if no chain succeeds
	root     frames.Addr // end of the stack, or 0
	changing bool
	noChain  bool

	gap   []byte // buffer of all copies
	spare []byte // its unused part
	rest  []byte // what the chain that is followed leaves of it
	floor uint64 // least length of rest
	left  int    // frames left to follow in this stop

	reached  frames.Addr // highest known place of the chain that is followed
	furthest frames.Addr // highest place of failed chains
	// failedEnd is the highest address reached by a failed chain that starts below the first successful one, or 0.
	failedEnd frames.Addr
	succeeded bool // a chain has succeeded
	// passed and failed have the stack pointers of successful and failed chains in the top.
	passed, failed words
	// path has the first inTop stack pointers of the last chain, those in the top.
	path  [maxChain]frames.Addr
	inTop int
}

// copyFrames follows chains from the top. If none succeeds, it copies in one piece.
func (p *search) copyFrames() {
	beyond := p.have.topEnd()
	reached, ok := p.follow()
	if p.noChain = !ok; ok {
		p.copyBeyondFailed()
		return
	}
	if p.have.hasRoom() && p.shallow(beyond, mostInFull) {
		if rest, ok := p.upToRoot(beyond); ok {
			p.have.add(rest)
			return
		}
	}
	p.bridge(reached)
}

// copyBeyondFailed copies beyond the end of failed chains, as these may be the thread's frames, and the successful ones
// stale.
func (p *search) copyBeyondFailed() {
	size := min(failedCopy, len(p.spare))
	if p.failedEnd <= p.have.topEnd() || p.root != 0 && p.failedEnd >= p.root || !p.have.hasRoom() || size == 0 {
		return
	}
	if p.root != 0 {
		size = min(size, int(p.root+copyMargin-p.failedEnd))
	}
	p.spare, p.rest = p.spare[:size], p.spare[size:]
	p.noChain = !p.grow(p.failedEnd)
}

// toRoot copies all up to the known end of the stack, if that is near: this is faster than following chains. ok is
// false if it is not near, or cannot be read.
func (p *search) toRoot(from frames.Addr) (rest frames.Region, ok bool) {
	if !p.endsNear(from) {
		return rest, false
	}
	if p.root+copyMargin <= from {
		return rest, true
	}
	return p.upToRoot(from)
}

func (p *search) endsNear(from frames.Addr) bool {
	return p.shallow(from, leastCopy-topCopy) && p.root+topCopy >= from
}

func (p *search) shallow(from frames.Addr, most uint64) bool {
	return p.root != 0 && !p.changing && p.root+copyMargin <= from+most
}

func (p *search) upToRoot(from frames.Addr) (rest frames.Region, ok bool) {
	if p.root+copyMargin <= from {
		return rest, false
	}
	b := p.gap[:p.root+copyMargin-from]
	return frames.Region{Addr: from, Bytes: b}, p.have.rd.Read(from, b) == len(b)
}

// bridge copies in one piece from an address on, until a return address in it begins a successful chain. It copies at
// most up to the known end of the stack, if near; else up to a frame of an earlier walk; else need bytes.
func (p *search) bridge(from frames.Addr) {
	whole := max(len(p.spare)-endBytes, 0)
	size := max(min(p.need, whole)-len(p.have.Stack.Bytes), 0)
	if from > p.have.topEnd() {
		size = min(size, wholeCopy)
	}
	if left := p.root + copyMargin - from; p.root > from && left <= mostBridge {
		size = min(int(left), whole)
	} else if joint := p.joins(from); joint != 0 {
		size = min(whole, int(joint-from))
	}
	if size > 0 && p.have.hasRoom() {
		p.spare, p.rest = p.spare[:size], p.spare[size:]
		p.grow(from)
	}
}

// joins gives the lowest frame end of the outline from which a chain succeeds, or 0.
func (p *search) joins(from frames.Addr) frames.Addr {
	first, tries := len(p.have.Others), maxJoins
	for i := 0; i < len(p.by.marks) && tries > 0 && p.left > 0; i++ {
		m := &p.by.marks[i]
		if v, ok := p.have.Word(m.at - 8); m.at <= from || !ok || v != m.pc {
			continue
		}
		if tries--; p.chain(m.pc, m.at) {
			p.spare = p.rest
			return m.at
		}
		p.have.drop(first)
	}
	return 0
}

// grow copies into p.spare in growing steps, until a return address in the last step begins a successful chain. Frame
// ends go to p.rest.
func (p *search) grow(from frames.Addr) (found bool) {
	n, to, done := len(p.have.Others), p.spare, 0
	p.have.add(frames.Region{Addr: from})
	p.spare, p.floor = p.rest, floorOf(p.rest)
	for step := firstGrowth; done < len(to) && !found; step += step / 2 {
		if step = min(step, len(to)-done); p.have.rd.Left() <= readsKept || p.left <= 0 {
			step = len(to) - done
		}
		got := p.have.rd.Read(from+uint64(done), to[done:done+step])
		p.have.out[n] = frames.Region{Addr: from, Bytes: to[:done+got]}
		found = p.scan(from+uint64(done), to[done:done+got])
		if done += got; got < step {
			break
		}
	}
	return found
}

// floorOf gives the floor by which chains copy at most mostFollowed bytes.
func floorOf(spare []byte) uint64 { return uint64(max(len(spare)-mostFollowed, 0)) }

type start struct{ pc, sp frames.Addr }

// follow copies the frame ends of the chains that begin in the top. ok is false if none succeeds; reached is then the
// highest place of the failed ones, or the end of the top.
func (p *search) follow() (reached frames.Addr, ok bool) {
	top := p.have.topEnd()
	p.spare, p.furthest = p.gap, top+largeFrom
	p.floor = floorOf(p.gap)
	p.passed, p.failed, p.left = words{}, words{}, maxSearch
	p.failedEnd, p.succeeded = 0, false
	ok = p.scan(p.have.Stack.Addr+redZone, p.have.Stack.Bytes[redZone:])
	if p.furthest == top+largeFrom {
		return top, ok
	}
	return p.furthest, ok
}

// tryChain follows a chain, and reports whether it succeeds. It keeps the copies of one that succeeds or gets furthest.
func (p *search) tryChain(s start) bool {
	n := len(p.have.Others)
	ok := p.chain(s.pc, s.sp)
	if ok {
		p.passed.mark(p.have.Stack.Addr, p.path[:p.inTop])
		p.succeeded = true
	} else {
		p.failed.mark(p.have.Stack.Addr, p.path[:p.inTop])
		if !p.succeeded {
			p.failedEnd = max(p.failedEnd, p.reached)
		}
	}
	switch {
	case ok:
	case p.reached > p.furthest && (p.root == 0 || p.reached <= p.root):
		p.furthest = p.reached
	default:
		p.have.drop(n)
		return false
	}
	p.spare = p.rest
	return ok
}

// scan follows chains from the known return addresses in b, which is the copy at an address, and reports whether one
// succeeds. Chains from stale return addresses succeed, too, so all are followed.
func (p *search) scan(at frames.Addr, b []byte) (ok bool) {
	for starts, tries := 0, 0; len(b) >= 8 && starts < maxStarts && tries < maxTries && p.left > 0; {
		v := binary.LittleEndian.Uint64(b)
		b, at = b[8:], at+8
		if !p.by.steps.maybe(v) || p.wasFollowed(at) || p.by.steps.size(v) == 0 {
			continue
		}
		tries++
		ok = p.tryChain(start{v, at}) || ok
		if p.reached != 0 {
			starts++
		}
	}
	return ok
}

// wasFollowed reports whether a chain went through the frame with this stack pointer.
func (p *search) wasFollowed(sp frames.Addr) bool {
	return p.passed.has(p.have.Stack.Addr, sp) || p.failed.has(p.have.Stack.Addr, sp)
}

// words is a set of the top's words.
type words [topCopy / 8 / 64]uint64

func (w *words) mark(stack frames.Addr, path []frames.Addr) {
	for _, sp := range path {
		at := (sp - stack) / 8
		w[at/64] |= 1 << (at % 64)
	}
}

func (w *words) has(stack, sp frames.Addr) bool {
	at := sp - stack
	return at < topCopy && w[at/8/64]&(1<<(at/8%64)) != 0
}

// chain follows the frames from a return address and the stack pointer behind it, and reports whether the chain reaches
// the outermost frame or joins a successful one.
func (p *search) chain(pc, sp frames.Addr) bool {
	p.rest, p.reached, p.inTop = p.spare, 0, 0
	for ; p.left > 0; p.left-- {
		if sp-p.have.Stack.Addr < topCopy && p.inTop < len(p.path) {
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
		v, ok := p.have.endOf(sp)
		if !ok {
			if v, ok = p.copyEnd(sp, size); !ok {
				return false
			}
		}
		if pc = v; size >= largeFrom || p.by.steps.size(v) != 0 {
			p.reached = max(p.reached, sp)
		}
		switch { // it joins another chain
		case p.passed.has(p.have.Stack.Addr, sp):
			return true
		case p.failed.has(p.have.Stack.Addr, sp):
			return false
		}
	}
	return false
}

// copyEnd copies the outer end of a frame of some size, and gives the return address there. Callers of small frames are
// mostly small, so it then copies more.
func (p *search) copyEnd(end, size frames.Addr) (pc frames.Addr, ok bool) {
	below, above := frames.Addr(pieceBelow), frames.Addr(endAbove)
	if size < smallFrame {
		below, above = fewBelow, manyAbove
	}
	from := p.have.beyondLast(end-below, end)
	bytes := end + above - from
	if !p.have.hasRoom() || uint64(len(p.rest)) < bytes+p.floor || p.have.rd.Left() <= readsKept {
		return 0, false
	}
	b := p.rest[:bytes]
	if b = b[:p.have.rd.Read(from, b)]; from+uint64(len(b)) < end {
		return 0, false
	}
	p.have.add(frames.Region{Addr: from, Bytes: b})
	p.rest = p.rest[bytes:]
	return p.have.Word(end - 8)
}
