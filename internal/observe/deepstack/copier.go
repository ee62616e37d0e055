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

// Bounds of the pieces at known frame ends.
const (
	pieceBelow = 256 // bytes below an end: return address, saved registers, alignment
	pieceAbove = 8
	pieceJoins = 512 // bytes; nearer pieces are joined
	maxPieces  = 32
	pieceBytes = 12 << 10 // of all pieces
	pieceReads = 48       // reads of a stop
)

// Copier copies deep stacks, one at a time, in addition to what Inner copies. It is reused.
type Copier struct {
	ptrace.Wrapped
	top []byte

	places     [ptrace.MaxPrefetch]frames.Region
	first      int // index of the first piece in places, behind those of Inner
	placeCount int
	buf        []byte
	search
}

// Stack is the stack to copy.
type Stack struct {
	Outline       *Outline
	Top           []byte      // the copied bytes from the red zone up
	InOnePiece    int         // bytes to copy if the outline does not fit
	Root          frames.Addr // end of the stack in the last complete walk, or 0
	ChangesStacks bool        // Root may be another stack's
}

// Reserve reserves buffers for the next copy: need is the bytes in one piece, if the outline does not fit.
// Precondition: no thread is stopped.
func (p *Copier) Reserve(need int) {
	if p.buf == nil {
		p.buf = make([]byte, pieceBytes)
		procmem.Touch(p.buf)
	}
	need = max(need, copysize.MaxToEnd) + endBytes
	if len(p.buffer) < need {
		p.buffer = make([]byte, need)
		procmem.Touch(p.buffer)
	}
}

// Use sets the stack of the next copy, and what else is copied: inner, or nil.
func (p *Copier) Use(s Stack, inner ptrace.OtherMemory) {
	p.Inner = inner
	p.outline, p.top = s.Outline, s.Top
	p.inOnePiece = min(s.InOnePiece, len(p.buffer))
	p.root, p.changesStacks = s.Root, s.ChangesStacks
}

// Misled reports whether the outline did not lead to the outermost frame in the last copy.
func (p *Copier) Misled() bool { return p.noChain }

// Prefetch implements [ptrace.Prefetcher].
func (p *Copier) Prefetch(regs *frames.Regs) []frames.Region {
	p.first = copy(p.places[:], p.Wrapped.Prefetch(regs))
	p.placeCount = p.first
	beyond, buf := regs.SP()-copysize.RedZone+uint64(len(p.top)), p.buf
	if p.rootIsNear(beyond) {
		return p.places[:p.placeCount]
	}
	for i := range p.outline.ends {
		at := p.outline.ends[i].at
		if at <= beyond {
			continue
		}
		from, end := max(at-pieceBelow, beyond), at+pieceAbove
		last := &p.places[max(p.placeCount-1, 0)]
		if joined := last.Addr + uint64(len(last.Bytes)); p.placeCount > p.first && from <= joined+pieceJoins {
			more := end - joined
			if uint64(len(buf)) < more {
				break
			}
			last.Bytes, buf = last.Bytes[:uint64(len(last.Bytes))+more], buf[more:]
			continue
		}
		if p.placeCount == p.first+maxPieces || uint64(len(buf)) < end-from {
			break
		}
		p.places[p.placeCount] = frames.Region{Addr: from, Bytes: buf[:end-from]}
		p.placeCount, buf = p.placeCount+1, buf[end-from:]
	}
	return p.places[:p.placeCount]
}

// ReadLimit implements [ptrace.ReadLimiter].
func (p *Copier) ReadLimit() int { return max(p.Wrapped.ReadLimit(), pieceReads) }

// Regions implements [ptrace.OtherMemory].
func (p *Copier) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := p.InnerRegions(regs, rd, out)
	from, topBytes := rd.Stack()
	if rd.Prefetched() {
		n += copy(out[n:], p.places[p.first:p.placeCount])
	}
	p.noChain = false
	if topBytes < len(p.top) {
		return n
	}
	stack := frames.Region{Addr: from, Bytes: p.top}
	p.memory = stopCopy{frames.Snapshot{Stack: stack, Others: out[:n]}, rd, out}
	if rest, ok := p.copyToNearRoot(p.memory.topEnd()); !ok {
		p.copyFrames()
	} else if len(rest.Bytes) > 0 {
		p.memory.add(rest)
	}
	n = len(p.memory.Others)
	p.memory = stopCopy{}
	return n
}
