// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// maxDeepRegions bounds the regions that a copy adds to those of Inner.
const maxDeepRegions = maxPieces + maxSteppedTo

const (
	pieceBelow = 256 // bytes for return address, saved registers, alignment
	pieceAbove = 8
	pieceJoins = 512 // bytes; nearer pieces are joined
	maxPieces  = 32
	pieceBytes = 12 << 10 // of all pieces
	pieceReads = 48       // reads of a stop
)

// DeepCopier copies deep stacks, one at a time, in addition to what Inner copies.
type DeepCopier struct {
	ptrace.Wrapped
	top []byte

	places     [ptrace.MaxPrefetch]frames.Region
	first      int // index of the first piece in places
	placeCount int
	buf        []byte // of all pieces
	bufUsed    int
	search
}

// DeepStack is the stack to copy.
type DeepStack struct {
	Outline       *Outline
	Top           []byte      // copied bytes, from the red zone up
	InOnePiece    int         // bytes to copy if the outline does not fit
	Root          frames.Addr // end of the stack in the last complete walk, or 0
	ChangesStacks bool        // Root may be another stack's
}

// Reserve reserves buffers for the next copy. need is the bytes in one piece. Precondition: no thread is stopped.
func (c *DeepCopier) Reserve(need int) {
	if c.buf == nil {
		c.buf = make([]byte, pieceBytes)
		procmem.Touch(c.buf)
	}
	need = max(need, MaxToEnd) + endBytes
	if len(c.buffer) < need {
		c.buffer = make([]byte, need)
		procmem.Touch(c.buffer)
	}
}

// Use sets the stack of the next copy, and what else is copied: inner, or nil.
func (c *DeepCopier) Use(s DeepStack, inner ptrace.OtherMemory) {
	c.Inner = inner
	c.outline, c.top = s.Outline, s.Top
	c.inOnePiece = min(s.InOnePiece, len(c.buffer))
	c.root, c.changesStacks = s.Root, s.ChangesStacks
}

// OutlineFailed reports whether the last outline did not lead to the outermost frame.
func (c *DeepCopier) OutlineFailed() bool { return c.outlineFailed }

// Prefetch implements [ptrace.OtherMemory].
func (c *DeepCopier) Prefetch(regs *frames.Regs) []frames.Region {
	c.first = copy(c.places[:], c.Wrapped.Prefetch(regs))
	c.placeCount, c.bufUsed = c.first, 0
	beyond := regs.SP() - RedZone + uint64(len(c.top))
	if c.rootIsNear(beyond) {
		return c.places[:c.placeCount]
	}
	for i := range c.outline.ends {
		if at := c.outline.ends[i].at; at > beyond && !c.addPiece(max(at-pieceBelow, beyond), at+pieceAbove) {
			break
		}
	}
	return c.places[:c.placeCount]
}

// addPiece adds a piece, or extends the last one if that ends near. It returns false if there is no room.
func (c *DeepCopier) addPiece(from, end frames.Addr) bool {
	buf := c.buf[c.bufUsed:]
	if c.placeCount > c.first {
		last := &c.places[c.placeCount-1]
		if lastEnd := last.Addr + uint64(len(last.Bytes)); from <= lastEnd+pieceJoins {
			more := int(end - lastEnd)
			if len(buf) < more {
				return false
			}
			last.Bytes = last.Bytes[:len(last.Bytes)+more]
			c.bufUsed += more
			return true
		}
	}
	size := int(end - from)
	if c.placeCount == c.first+maxPieces || len(buf) < size {
		return false
	}
	c.places[c.placeCount] = frames.Region{Addr: from, Bytes: buf[:size]}
	c.placeCount++
	c.bufUsed += size
	return true
}

// ReadLimit implements [ptrace.OtherMemory].
func (c *DeepCopier) ReadLimit() int { return max(c.Wrapped.ReadLimit(), pieceReads) }

// Regions implements [ptrace.OtherMemory].
func (c *DeepCopier) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := c.InnerRegions(regs, rd, out)
	from, topBytes := rd.Stack()
	if rd.Prefetched() {
		n += copy(out[n:], c.places[c.first:c.placeCount])
	}
	c.outlineFailed = false
	if topBytes < len(c.top) {
		return n
	}
	stack := frames.Region{Addr: from, Bytes: c.top}
	c.memory = stopCopy{frames.Snapshot{Stack: stack, Others: out[:n]}, rd, out}
	if rest, ok := c.copyToNearRoot(c.memory.topEnd()); !ok {
		c.copyFrames()
	} else if len(rest.Bytes) > 0 {
		c.memory.add(rest)
	}
	n = len(c.memory.Others)
	c.memory = stopCopy{}
	return n
}

type stopCopy struct {
	frames.Snapshot
	rd  *ptrace.Reader
	out []frames.Region // Others with room for more
}

func (s *stopCopy) topEnd() frames.Addr { return s.Stack.Addr + uint64(len(s.Stack.Bytes)) }

func (s *stopCopy) hasRoom() bool { return len(s.Others) < len(s.out) }

// Precondition: there is room.
func (s *stopCopy) add(r frames.Region) {
	n := len(s.Others)
	s.out[n], s.Others = r, s.out[:n+1]
}

func (s *stopCopy) drop(n int) { s.Others = s.out[:n] }

// returnAddressAt returns the return address at a frame's outer end, if copied with the saved registers.
func (s *stopCopy) returnAddressAt(end frames.Addr) (pc frames.Addr, ok bool) {
	from := end - savedBelow
	if top := &s.Stack; from-top.Addr < uint64(len(top.Bytes)) {
		return returnAddressIn(top, from)
	}
	for i := range s.Others {
		pc, ok = returnAddressIn(&s.Others[i], from)
		if ok {
			return pc, true
		}
	}
	for ok = true; ok && from < end; from += 8 { // in adjacent regions
		pc, ok = s.Word(from)
	}
	return pc, ok
}

func returnAddressIn(r *frames.Region, from frames.Addr) (pc frames.Addr, ok bool) {
	n, at := uint64(len(r.Bytes)), from-r.Addr
	if at >= n || n-at < savedBelow {
		return 0, false
	}
	return binary.LittleEndian.Uint64(r.Bytes[at+savedBelow-8:]), true
}

func (s *stopCopy) beyondLast(from, to frames.Addr) frames.Addr {
	last := &s.Stack
	if n := len(s.Others); n > 0 && s.Others[n-1].Addr > last.Addr {
		last = &s.Others[n-1]
	}
	if ends := last.Addr + uint64(len(last.Bytes)); last.Addr <= from && ends > from && ends < to {
		return ends &^ 7
	}
	return from
}
