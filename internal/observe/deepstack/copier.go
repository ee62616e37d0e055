// SPDX-License-Identifier: Apache-2.0

package deepstack

import (
	"prywalk/frames"
	"prywalk/internal/observe/copysize"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// MaxRegions bounds the regions that a copy adds to those of Inner.
const MaxRegions = maxPieces + maxSteppedTo

const (
	pieceBelow = 256 // bytes for return address, saved registers, alignment
	pieceAbove = 8
	pieceJoins = 512 // bytes; nearer pieces are joined
	maxPieces  = 32
	pieceBytes = 12 << 10 // of all pieces
	pieceReads = 48       // reads of a stop
)

// Copier copies deep stacks, one at a time, in addition to what Inner copies.
type Copier struct {
	ptrace.Wrapped
	top []byte

	places     [ptrace.MaxPrefetch]frames.Region
	first      int // index of the first piece in places
	placeCount int
	buf        []byte // of all pieces
	bufUsed    int
	search
}

// Stack is the stack to copy.
type Stack struct {
	Outline       *Outline
	Top           []byte      // copied bytes, from the red zone up
	InOnePiece    int         // bytes to copy if the outline does not fit
	Root          frames.Addr // end of the stack in the last complete walk, or 0
	ChangesStacks bool        // Root may be another stack's
}

// Reserve reserves buffers for the next copy. need is the bytes in one piece. Precondition: no thread is stopped.
func (c *Copier) Reserve(need int) {
	if c.buf == nil {
		c.buf = make([]byte, pieceBytes)
		procmem.Touch(c.buf)
	}
	need = max(need, copysize.MaxToEnd) + endBytes
	if len(c.buffer) < need {
		c.buffer = make([]byte, need)
		procmem.Touch(c.buffer)
	}
}

// Use sets the stack of the next copy, and what else is copied: inner, or nil.
func (c *Copier) Use(s Stack, inner ptrace.OtherMemory) {
	c.Inner = inner
	c.outline, c.top = s.Outline, s.Top
	c.inOnePiece = min(s.InOnePiece, len(c.buffer))
	c.root, c.changesStacks = s.Root, s.ChangesStacks
}

// OutlineFailed reports whether the last outline did not lead to the outermost frame.
func (c *Copier) OutlineFailed() bool { return c.outlineFailed }

// Prefetch implements [ptrace.Prefetcher].
func (c *Copier) Prefetch(regs *frames.Regs) []frames.Region {
	c.first = copy(c.places[:], c.Wrapped.Prefetch(regs))
	c.placeCount, c.bufUsed = c.first, 0
	beyond := regs.SP() - copysize.RedZone + uint64(len(c.top))
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
func (c *Copier) addPiece(from, end frames.Addr) bool {
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

// ReadLimit implements [ptrace.ReadLimiter].
func (c *Copier) ReadLimit() int { return max(c.Wrapped.ReadLimit(), pieceReads) }

// Regions implements [ptrace.OtherMemory].
func (c *Copier) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
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
