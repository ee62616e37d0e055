// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

type copier struct {
	arch        frames.Arch
	reader      ptrace.Reader
	otherStacks otherStacks
	pieces      pieces
	plan        plannedMemory
	larger      []byte
	tail        []byte
	regions     [maxRegions]frames.Region
}

func (c *copier) request(t *Thread, s *RawSample, req *ptrace.Request) {
	hints := t.hints.get()
	*req = ptrace.Request{
		Stack: s.buf, Larger: c.largerBuffer(t, s), Tail: c.tailBuffer(t, s),
		Top: hints.Top, ToEnd: hints.ToEnd && t.OtherMemory == nil,
		Memory: t.Memory, Files: t.files, OtherMemory: c.otherMemory(t, s), Regions: c.regions[:],
	}
}

func (c *copier) keepCopy(t *Thread, s *RawSample, req *ptrace.Request, stop *ptrace.Stop) {
	if stop.InLarger {
		s.reserveStack(stop.StackLen)
		s.touched = max(s.touched, copy(s.buf, c.larger))
	}
	s.setStack(stop.StackAddr, stop.StackLen, stop.StackAsked)
	if stop.StackEnd != 0 {
		s.Mem.StackEnd = stop.StackEnd
	}
	failed := t.hints.get().outlineMisled || s.outline != nil && c.pieces.noChain
	s.copyShape = copyShape{outline: s.outline, outlineFailed: failed}
	regions := c.withTail(s, stop)
	s.setLimit(req, stop)
	s.keepOthers(c.regions[:regions])
	t.stackBytes = stop.StackLen
	t.otherBytes = max(len(s.othersBuf)-stop.TailLen, t.otherBytes-t.otherBytes/8)
}

// setLimit sets limit and notRoot. Precondition: s.Mem and s.tailAt are set.
func (s *RawSample) setLimit(req *ptrace.Request, stop *ptrace.Stop) {
	switch {
	case stop.Short:
		s.limit = limitTime
	case req.Top != 0 && stop.StackAddr+uint64(stop.StackAsked) == req.Top:
		s.limit = limitTop
	}
	switch {
	case req.Top == 0 || req.ToEnd:
	case s.tailAt != 0:
		s.notRoot = s.tailAt
	case stop.InLarger:
		s.notRoot = s.Mem.Stack.Addr + uint64(len(s.Mem.Stack.Bytes)) - 2*copyMargin - 8
	}
}

// withTail returns the number of regions with the outermost frames behind a gap.
func (c *copier) withTail(s *RawSample, stop *ptrace.Stop) int {
	n := stop.Regions
	if stop.TailLen > 0 && n < len(c.regions) {
		c.regions[n] = frames.Region{Addr: stop.TailAddr, Bytes: c.tail[:stop.TailLen]}
		s.tailAt = stop.TailAddr
		n++
	}
	return n
}

// prepareBuffers chooses whether a stop copies by an outline, and reserves buffers. Precondition: no thread is stopped.
func (c *copier) prepareBuffers(t *Thread, s *RawSample) {
	hints := t.hints.get()
	s.reserveOthers(t.otherBytes)
	s.outline = hints.outline
	if s.outline == nil {
		s.reserveStack(hints.stackToReserve(t.expectedOtherBytes()))
		s.touch(t.stackBytes)
		if c.larger == nil {
			c.larger = make([]byte, wholeCopy)
			procmem.Touch(c.larger)
			c.tail = make([]byte, tailCopy)
			procmem.Touch(c.tail)
		}
		return
	}
	s.reserveStack(topCopy)
	s.touch(topCopy)
	c.pieces.reserve(hints.Bytes)
	c.pieces.ends.outline = nil
	if t.mayBeDeep() {
		c.pieces.ends.check(t.Memory, hints.outline)
	}
}

// A wrong guess only costs time.
func (t *Thread) mayBeDeep() bool { return t.hints.get().deepAt(t.stackPointer - expectedGrowth) }

func (c *CopyHints) deepAt(sp frames.Addr) bool {
	return c.Root == 0 || c.Changing || c.Root-sp >= outlineFrom
}

func (c *CopyHints) outlineFor(sp frames.Addr) *outline {
	if c.deepAt(sp) {
		return c.outline
	}
	return nil
}

// expectedGrowth of a stack until the next observation, in bytes.
const expectedGrowth = 16 << 10

// expectedTaskBytes is the least expected other memory of a thread with tasks, in bytes.
const expectedTaskBytes = 24 << 10

func (t *Thread) expectedOtherBytes() int {
	if t.OtherMemory != nil {
		return max(t.otherBytes, expectedTaskBytes)
	}
	return t.otherBytes
}

// stackToReserve returns bytes: a small stack shares minCopy with other memory.
func (s *sizeHints) stackToReserve(regions int) int {
	if s.Bytes > minCopy || regions == 0 {
		return s.Bytes
	}
	return min(s.Bytes, max(minCopy-regions-copyMargin, 2*s.Used+copyMargin, topCopy))
}

// largerBuffer returns nil if the thread changes stacks: their ends are unknown.
func (c *copier) largerBuffer(t *Thread, s *RawSample) []byte {
	if s.outline != nil || t.hints.get().Changing {
		return nil
	}
	return c.larger
}

// tailBuffer returns nil if a run-time system knows the stacks' ends.
func (c *copier) tailBuffer(t *Thread, s *RawSample) []byte {
	hints := t.hints.get()
	if s.outline != nil || hints.Changing || t.OtherMemory != nil || !hints.ToEnd && hints.Top == 0 {
		return nil
	}
	return c.tail
}

func (c *copier) otherMemory(t *Thread, s *RawSample) ptrace.OtherMemory {
	inner := c.memoryWithoutOutline(t)
	if s.outline == nil {
		return inner
	}
	hints, p := t.hints.get(), &c.pieces
	p.Inner = inner
	p.outline = s.outline
	p.top = s.buf
	p.inOnePiece = min(hints.Bytes, len(p.buffer))
	p.root, p.changesStacks = hints.Root, hints.Changing
	return &c.pieces
}
