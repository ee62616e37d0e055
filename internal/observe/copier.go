// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/observe/copysize"
	"prywalk/internal/observe/deepstack"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// tailCopy is the bytes of the outermost frames, behind a gap.
const tailCopy = 64 << 10

type copier struct {
	arch        frames.Arch
	reader      ptrace.Reader
	otherStacks otherStacks
	deep        deepstack.Copier
	plan        plannedMemory
	larger      []byte
	tail        []byte
	regions     [maxRegions]frames.Region
}

func (c *copier) fillRequest(t *Thread, s *RawSample, req *ptrace.Request) {
	hints := t.hints.get()
	*req = ptrace.Request{
		Stack: s.buf, Larger: c.largerBuffer(t, s), Tail: c.tailBuffer(t, s),
		CopyEnd: hints.CopyEnd, ToMappingEnd: hints.ToEnd && t.OtherMemory == nil,
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
	failed := t.hints.get().Deep.Misled || s.outline != nil && c.deep.Misled()
	s.copyShape = copyShape{outline: s.outline, outlineFailed: failed}
	regions := c.addTail(s, stop)
	s.setLimit(req, stop)
	s.keepOthers(c.regions[:regions])
	t.stackBytes = stop.StackLen
	t.otherBytes = max(len(s.othersBuf)-stop.TailLen, t.otherBytes-t.otherBytes/8)
}

// setLimit sets Limit and NotRoot. Precondition: s.Mem and s.TailAt are set.
func (s *RawSample) setLimit(req *ptrace.Request, stop *ptrace.Stop) {
	switch {
	case stop.OutOfTime:
		s.Limit = copysize.LimitTime
	case req.CopyEnd != 0 && stop.StackAddr+uint64(stop.StackAsked) == req.CopyEnd:
		s.Limit = copysize.LimitCopyEnd
	}
	switch {
	case req.CopyEnd == 0 || req.ToMappingEnd:
	case s.TailAt != 0:
		s.NotRoot = s.TailAt
	case stop.InLarger:
		s.NotRoot = s.Mem.Stack.Addr + uint64(len(s.Mem.Stack.Bytes)) - 2*copysize.Margin - 8
	}
}

// addTail adds the outermost frames, behind a gap, as a region, and returns the number of regions.
func (c *copier) addTail(s *RawSample, stop *ptrace.Stop) int {
	n := stop.Regions
	if stop.TailLen > 0 && n < len(c.regions) {
		c.regions[n] = frames.Region{Addr: stop.TailAddr, Bytes: c.tail[:stop.TailLen]}
		s.TailAt = stop.TailAddr
		n++
	}
	return n
}

// prepareBuffers chooses whether a stop copies by an outline, and reserves buffers. Precondition: no thread is stopped.
func (c *copier) prepareBuffers(t *Thread, s *RawSample) {
	hints := t.hints.get()
	s.reserveOthers(t.otherBytes)
	s.outline = hints.Deep.Outline
	if s.outline == nil {
		s.reserveStack(hints.ToReserve(t.expectedOtherBytes()))
		s.touch(t.stackBytes)
		if c.larger == nil {
			c.larger = make([]byte, deepstack.WholeBytes)
			procmem.Touch(c.larger)
			c.tail = make([]byte, tailCopy)
			procmem.Touch(c.tail)
		}
		return
	}
	s.reserveStack(deepstack.TopBytes)
	s.touch(deepstack.TopBytes)
	c.deep.Reserve(hints.Bytes)
	if t.mayBeDeep() {
		c.deep.CheckPresent(t.Memory, s.outline)
	}
}

// mayBeDeep reports whether the stack may be deep at the next sample, as guessed from the last one. A wrong guess costs
// time, but no frames.
func (t *Thread) mayBeDeep() bool { return t.hints.get().deepAt(t.stackPointer - expectedGrowth) }

func (c *CopyHints) deepAt(sp frames.Addr) bool {
	return c.Root == 0 || c.Changing || c.Root-sp >= deepstack.DeepFrom
}

func (c *CopyHints) outlineFor(sp frames.Addr) *deepstack.Outline {
	if c.deepAt(sp) {
		return c.Deep.Outline
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
	if s.outline != nil || hints.Changing || t.OtherMemory != nil || !hints.ToEnd && hints.CopyEnd == 0 {
		return nil
	}
	return c.tail
}

// otherMemory returns what is copied besides the stack in one piece, or nil.
func (c *copier) otherMemory(t *Thread, s *RawSample) OtherMemory {
	inner := c.memoryWithoutOutline(t)
	if s.outline == nil {
		return inner
	}
	hints := t.hints.get()
	c.deep.Use(deepstack.Stack{
		Outline: s.outline, Top: s.buf, InOnePiece: hints.Bytes, Root: hints.Root, ChangesStacks: hints.Changing,
	}, inner)
	return &c.deep
}
