// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"encoding/binary"

	"prywalk/frames"
)

// in bytes unless stated
const (
	maxStarts    = 24        // of more than one frame
	maxTries     = 400       // number of chains
	maxKnownEnds = 4         // chains from frames at their places of earlier walks
	maxSearch    = 1024      // frames of all chains
	readsKept    = 2         // reads kept for a copy in one piece
	maxSteppedTo = 40        // regions of ends at new places
	maxFollowed  = 40 << 10  // for ends at new places
	maxInFull    = 128 << 10 // copied beyond a top without known frames
	failedCopy   = 10 << 10  // beyond failed chains
	firstGrowth  = 4 << 10   // first read where frames are unknown
	endBytes     = maxFollowed + pieceBelow + smallFrameAbove
)

// around a frame's outer end at a new place, in bytes
const (
	endAbove        = 512
	smallFrameAbove = 1024 // after a small frame: its callers are mostly small
	smallFrameBelow = 128  // pieceBelow after a small frame
	maxSmallFrame   = 2 << 10
	minLargeFrame   = 16 << 10 // a frame of this size is large
	savedBelow      = 64       // return address and the registers that most functions save
)

// A chain succeeds if it reaches the outermost frame.
type search struct {
	// Set by [DeepCopier.Use]:
	outline       *Outline
	inOnePiece    int         // bytes to copy if no chain succeeds
	root          frames.Addr // end of the stack, or 0
	changesStacks bool

	memory        stopCopy
	outlineFailed bool
	arena

	attempts
	topFrames [maxChain]frames.Addr // of the last chain
}

// attempts are those of one observation.
type attempts struct {
	framesLeft            int
	furthest              frames.Addr // highest place of the failed chains that were kept, or 0
	failedEnd             frames.Addr // highest place of those that failed before the first success, or 0
	succeeded             bool
	succeededAt, failedAt wordSet
}

type chain struct {
	succeeded bool
	reached   frames.Addr   // highest known place, or 0
	inTop     []frames.Addr // valid until the next chain
}

// arena is the buffer of all copies. A chain's copies take from forChain, which begins as free. If the chain is kept,
// free begins where they end.
type arena struct {
	buffer     []byte
	free       []byte
	forChain   []byte
	keptUnused uint64 // least length of forChain
}

func (a *arena) limitChains(free []byte) { a.keptUnused = uint64(max(len(free)-maxFollowed, 0)) }

func (a *arena) keepChain() { a.free = a.forChain }

func (a *arena) take(n int) (taken []byte) {
	taken, a.free = a.free[:n], a.free[n:]
	a.limitChains(a.free)
	return taken
}

func (s *search) copyFrames() {
	beyond := s.memory.topEnd()
	reached, ok := s.followTop()
	s.outlineFailed = !ok
	if ok {
		s.copyBeyondFailed()
		return
	}
	if s.memory.hasRoom() && s.rootWithin(beyond, maxInFull) {
		if rest, ok := s.copyToRoot(beyond, s.free); ok { // the buffer before it has the pieces of a kept chain
			s.memory.add(rest)
			return
		}
	}
	s.copyUntilChain(reached)
}

// copyBeyondFailed copies some stack beyond the failed chains, which may be the thread's frames.
func (s *search) copyBeyondFailed() {
	size := min(failedCopy, len(s.free))
	if s.failedEnd <= s.memory.topEnd() || s.root != 0 && s.failedEnd >= s.root || !s.memory.hasRoom() || size == 0 {
		return
	}
	if s.root != 0 {
		size = min(size, int(s.root+Margin-s.failedEnd))
	}
	s.outlineFailed = !s.copyInSteps(s.failedEnd, s.take(size))
}

func (s *search) copyToNearRoot(from frames.Addr) (rest frames.Region, ok bool) {
	if !s.rootIsNear(from) {
		return rest, false
	}
	if s.root+Margin <= from {
		return rest, true
	}
	return s.copyToRoot(from, s.buffer)
}

func (s *search) rootIsNear(from frames.Addr) bool {
	return s.rootWithin(from, MinWhole-TopBytes) && s.root+TopBytes >= from
}

func (s *search) rootWithin(from frames.Addr, most uint64) bool {
	return s.root != 0 && !s.changesStacks && s.root+Margin <= from+most
}

func (s *search) copyToRoot(from frames.Addr, to []byte) (rest frames.Region, ok bool) {
	if s.root+Margin <= from {
		return rest, false
	}
	b := to[:s.root+Margin-from]
	return frames.Region{Addr: from, Bytes: b}, s.memory.rd.Read(from, b) == len(b)
}

// copyUntilChain copies at most up to the stack's known end, if near; else to a frame of an earlier walk; else
// inOnePiece bytes.
func (s *search) copyUntilChain(from frames.Addr) {
	whole := max(len(s.free)-endBytes, 0)
	size := max(min(s.inOnePiece, whole)-len(s.memory.Stack.Bytes), 0)
	if from > s.memory.topEnd() {
		size = min(size, WholeBytes)
	}
	if left := s.root + Margin - from; s.root > from && left <= MaxToEnd {
		size = min(int(left), whole)
	} else if joint := s.lowestKnownEnd(from); joint != 0 {
		size = min(whole, int(joint-from))
	}
	if size > 0 && s.memory.hasRoom() {
		s.copyInSteps(from, s.take(size))
	}
}

func (s *search) lowestKnownEnd(from frames.Addr) frames.Addr {
	first, tries := len(s.memory.Others), maxKnownEnds
	for i := 0; i < len(s.outline.ends) && tries > 0 && s.framesLeft > 0; i++ {
		end := &s.outline.ends[i]
		if value, ok := s.memory.Word(end.at - 8); end.at <= from || !ok || value != end.pc {
			continue
		}
		tries--
		if s.followChain(end.pc, end.at).succeeded {
			s.keepChain()
			return end.at
		}
		s.memory.drop(first)
	}
	return 0
}

// copyInSteps ends when a return address in the last step begins a successful chain.
func (s *search) copyInSteps(from frames.Addr, to []byte) (found bool) {
	n := len(s.memory.Others)
	done := 0
	s.memory.add(frames.Region{Addr: from})
	for step := firstGrowth; done < len(to) && !found; step += step / 2 {
		step = min(step, len(to)-done)
		if s.memory.rd.ReadsLeft() <= readsKept || s.framesLeft <= 0 {
			step = len(to) - done
		}
		got := s.memory.rd.Read(from+uint64(done), to[done:done+step])
		s.memory.out[n] = frames.Region{Addr: from, Bytes: to[:done+got]}
		found = s.followAll(from+uint64(done), to[done:done+got])
		done += got
		if got < step {
			break
		}
	}
	return found
}

// followTop follows all chains that begin in the top. ok: one succeeded. Otherwise reached is the highest place of all,
// or the top's end.
func (s *search) followTop() (reached frames.Addr, ok bool) {
	s.free = s.buffer
	s.limitChains(s.free)
	s.attempts = attempts{framesLeft: maxSearch}
	top := &s.memory.Stack
	ok = s.followAll(top.Addr+RedZone, top.Bytes[RedZone:])
	return max(s.furthest, s.memory.topEnd()), ok
}

// followAll follows all chains that begin in b, the copy at an address. ok: one succeeded.
func (s *search) followAll(at frames.Addr, b []byte) (ok bool) {
	starts, tries := maxStarts, maxTries
	for ; len(b) >= 8 && starts > 0 && tries > 0 && s.framesLeft > 0; b = b[8:] {
		at += 8
		pc := binary.LittleEndian.Uint64(b)
		if !s.mayBegin(pc, at) {
			continue
		}
		tries--
		c := s.tryChain(pc, at)
		if c.reached != 0 {
			starts--
		}
		ok = ok || c.succeeded
	}
	return ok
}

// mayBegin reports whether a word below sp is a known return address, and in no chain yet.
func (s *search) mayBegin(pc, sp frames.Addr) bool {
	sizes := s.outline.sizes
	return sizes.mayHave(pc) && !s.wasFollowed(sp) && sizes.size(pc) != 0
}

// tryChain keeps the copies of a chain that succeeds or gets furthest.
func (s *search) tryChain(pc, sp frames.Addr) chain {
	others := len(s.memory.Others)
	c := s.followChain(pc, sp)
	if c.succeeded {
		s.succeeded = true
		s.succeededAt.mark(s.memory.Stack.Addr, c.inTop)
		s.keepChain()
		return c
	}
	s.failedAt.mark(s.memory.Stack.Addr, c.inTop)
	if !s.succeeded {
		s.failedEnd = max(s.failedEnd, c.reached)
	}
	isFurthest := c.reached > max(s.furthest, s.memory.topEnd()+minLargeFrame)
	if beyondRoot := s.root != 0 && c.reached > s.root; isFurthest && !beyondRoot {
		s.furthest = c.reached
		s.keepChain()
	} else {
		s.memory.drop(others)
	}
	return c
}

func (s *search) wasFollowed(sp frames.Addr) bool {
	return s.succeededAt.has(s.memory.Stack.Addr, sp) || s.failedAt.has(s.memory.Stack.Addr, sp)
}

type wordSet [TopBytes / 8 / 64]uint64

func (w *wordSet) mark(stack frames.Addr, path []frames.Addr) {
	for _, sp := range path {
		at := (sp - stack) / 8
		w[at/64] |= 1 << (at % 64)
	}
}

func (w *wordSet) has(stack, sp frames.Addr) bool {
	at := sp - stack
	return at < TopBytes && w[at/8/64]&(1<<(at/8%64)) != 0
}

func (s *search) followChain(pc, sp frames.Addr) (c chain) {
	s.forChain = s.free
	c.inTop = s.topFrames[:0]
	for ; s.framesLeft > 0; s.framesLeft-- {
		if sp-s.memory.Stack.Addr < TopBytes && len(c.inTop) < len(s.topFrames) {
			c.inTop = append(c.inTop, sp)
		}
		size := s.outline.sizes.size(pc)
		switch {
		case size == sizeRoot:
			c.succeeded = true
			return c
		case size == 0 || size >= MaxUsual: // unknown, or varies
			return c
		}
		sp += size
		next, ok := s.memory.returnAddressAt(sp)
		if !ok {
			if next, ok = s.copyEnd(sp, size); !ok {
				return c
			}
		}
		pc = next
		if size >= minLargeFrame || s.outline.sizes.size(next) != 0 {
			c.reached = max(c.reached, sp)
		}
		if s.wasFollowed(sp) { // it joins another chain
			c.succeeded = s.succeededAt.has(s.memory.Stack.Addr, sp)
			return c
		}
	}
	return c
}

// copyEnd copies the outer end of a frame, and returns the return address there.
func (s *search) copyEnd(end, size frames.Addr) (pc frames.Addr, ok bool) {
	below, above := frames.Addr(pieceBelow), frames.Addr(endAbove)
	if size < maxSmallFrame {
		below, above = smallFrameBelow, smallFrameAbove
	}
	from := s.memory.beyondLast(end-below, end)
	bytes := end + above - from
	if !s.memory.hasRoom() || uint64(len(s.forChain)) < bytes+s.keptUnused || s.memory.rd.ReadsLeft() <= readsKept {
		return 0, false
	}
	b := s.forChain[:bytes]
	b = b[:s.memory.rd.Read(from, b)]
	if from+uint64(len(b)) < end {
		return 0, false
	}
	s.memory.add(frames.Region{Addr: from, Bytes: b})
	s.forChain = s.forChain[bytes:]
	return s.memory.Word(end - 8)
}
