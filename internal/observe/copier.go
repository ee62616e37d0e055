// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"

	"prywalk/frames"
	"prywalk/internal/observe/copying"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// Bytes of the outermost frames that are copied behind a gap.
const tailCopy = 64 << 10

type copier struct {
	reader      ptrace.Reader
	otherStacks otherStacks
	deep        copying.DeepCopier
	plan        plannedMemory
	larger      []byte // [ptrace.Request.Larger]
	tail        []byte // [ptrace.Request.Tail]
	regions     [maxRegions]frames.Region
}

func (c *copier) fillRequest(t *Thread, s *RawSample, req *ptrace.Request) {
	hints := t.hints()
	*req = ptrace.Request{
		Stack: s.buffers.stack, Larger: c.largerBuffer(t, s), Tail: c.tailBuffer(t, s),
		CopyEnd: hints.CopyEnd, ToMappingEnd: hints.ToEnd && t.OtherMemory == nil,
		Memory: t.Memory, Files: t.files, OtherMemory: c.otherMemory(t, s, false), Regions: c.regions[:],
	}
}

func (c *copier) keepCopy(t *Thread, s *RawSample, req *ptrace.Request, stop *ptrace.Stop) {
	if stop.InLarger {
		s.buffers.reserveStack(stop.StackLen)
		s.buffers.touched = max(s.buffers.touched, copy(s.buffers.stack, c.larger))
	}
	s.setStack(stop.StackAddr, stop.StackLen, stop.StackAsked)
	if stop.StackEnd != 0 {
		s.Mem.StackEnd = stop.StackEnd
	}
	failed := t.hints().LastOutlineWasCut || s.outline != nil && c.deep.OutlineFailed()
	s.copyShape = copyShape{outline: s.outline, outlineFailed: failed}
	regions := c.addTail(s, stop)
	s.setLimit(req, stop)
	s.keepOthers(c.regions[:regions])
	t.copies.stackBytes = stop.StackLen
	t.copies.otherBytes = max(len(s.buffers.others)-stop.TailLen, t.copies.otherBytes-t.copies.otherBytes/8)
}

// Precondition: s.Mem and s.TailAt are set.
func (s *RawSample) setLimit(req *ptrace.Request, stop *ptrace.Stop) {
	switch {
	case stop.OutOfTime:
		s.Limit = copying.LimitTime
	case req.CopyEnd != 0 && stop.StackAddr+uint64(stop.StackAsked) == req.CopyEnd:
		s.Limit = copying.LimitCopyEnd
	}
	switch {
	case req.CopyEnd == 0 || req.ToMappingEnd:
	case s.TailAt != 0:
		s.NotRoot = s.TailAt
	case stop.InLarger:
		s.NotRoot = s.Mem.Stack.Addr + uint64(len(s.Mem.Stack.Bytes)) - 2*copying.Margin - 8
	}
}

func (c *copier) addTail(s *RawSample, stop *ptrace.Stop) int {
	n := stop.Regions
	if stop.TailLen > 0 && n < len(c.regions) {
		c.regions[n] = frames.Region{Addr: stop.TailAddr, Bytes: c.tail[:stop.TailLen]}
		s.TailAt = stop.TailAddr
		n++
	}
	return n
}

// prepareBuffers is called before the interrupt, because it may allocate.
func (c *copier) prepareBuffers(t *Thread, s *RawSample) {
	hints := t.hints()
	s.buffers.reserveOthers(t.copies.otherBytes)
	s.outline = hints.Outline
	if s.outline == nil {
		others := t.copies.otherBytes
		if t.OtherMemory != nil {
			others = max(others, expectedTaskBytes)
		}
		s.buffers.reserveStack(hints.ToReserve(others))
		s.buffers.touch(t.copies.stackBytes)
		if c.larger == nil {
			c.larger = make([]byte, copying.WholeBytes)
			procmem.Touch(c.larger)
			c.tail = make([]byte, tailCopy)
			procmem.Touch(c.tail)
		}
		return
	}
	s.buffers.reserveStack(copying.TopBytes)
	s.buffers.touch(copying.TopBytes)
	c.deep.Reserve(hints.Bytes)
}

// Least expected other memory of a thread with tasks, in bytes.
const expectedTaskBytes = 24 << 10

func (c *copier) largerBuffer(t *Thread, s *RawSample) []byte {
	if s.outline != nil || t.hints().Changing {
		return nil
	}
	return c.larger
}

// tailBuffer returns nil also if the stack's end is unknown, or known to a runtime.
func (c *copier) tailBuffer(t *Thread, s *RawSample) []byte {
	hints := t.hints()
	if s.outline != nil || hints.Changing || t.OtherMemory != nil || !hints.ToEnd && hints.CopyEnd == 0 {
		return nil
	}
	return c.tail
}

func (c *copier) otherMemory(t *Thread, s *RawSample, asleep bool) OtherMemory {
	inner := c.memoryWithoutOutline(t, asleep)
	if s.outline == nil {
		return inner
	}
	hints := t.hints()
	c.deep.Use(copying.DeepStack{
		Outline: s.outline, Top: s.buffers.stack, InOnePiece: hints.Bytes, Root: hints.Root, ChangesStacks: hints.Changing,
	}, inner)
	return &c.deep
}

func (c *copier) copyOtherMemory(t *Thread, s *RawSample) {
	hints := t.hints()
	s.outlineFailed = hints.LastOutlineWasCut
	if s.outline != nil {
		c.deep.Reserve(hints.Bytes)
	}
	t.prepareFindAnchor()
	other := c.otherMemory(t, s, true)
	if other == nil {
		return
	}
	s.Regs.TLS = t.threadPointer()
	c.reader.Reset(t.TID, t.Memory)
	if plan, _ := t.plan(); s.outline != nil || plan != nil {
		c.reader.AllowReads(other.ReadLimit())
		c.reader.SetStack(s.Mem.Stack.Addr, s.Mem.Stack.Bytes)
	}
	if hints.Plan != nil && t.Memory != nil {
		t.copies.lastPlan.CheckNodes(t.Memory, hints.Plan)
	}
	if s.outline != nil {
		c.reader.Prefetch(&c.deep, &s.Regs)
	}
	n := other.Regions(&s.Regs, &c.reader, c.regions[:])
	s.outlineFailed = s.outlineFailed || s.outline != nil && c.deep.OutlineFailed()
	s.keepOthers(c.regions[:n])
}

func (c *copier) memoryWithoutOutline(t *Thread, asleep bool) ptrace.OtherMemory {
	places, inner := &t.hints().StackPlaces, c.withPlan(t, t.OtherMemory, asleep)
	if places[0].At == 0 {
		return inner
	}
	c.otherStacks.Inner, c.otherStacks.places = inner, places
	for i := range places {
		n := places[i].CopyBytes()
		if places[i].At != 0 && len(c.otherStacks.bufs[i]) < n {
			c.otherStacks.bufs[i] = make([]byte, n)
			procmem.Touch(c.otherStacks.bufs[i])
		}
	}
	return &c.otherStacks
}

func (c *copier) withPlan(t *Thread, inner ptrace.OtherMemory, asleep bool) ptrace.OtherMemory {
	plan, anchor := t.plan()
	if plan == nil {
		return inner
	}
	c.plan.Inner = inner
	c.plan.Asleep = asleep
	c.plan.Use(plan, anchor, t.copies.innerTID, &t.copies.lastPlan)
	if plans := t.processPlans(); len(plans) > 1 {
		c.plan.UseAlso(plans)
	}
	return &c.plan
}

func (s *RawSample) copyTopOrStack(t *Thread, sp, below frames.Addr) error {
	if outline := t.hints().outlineFor(sp); outline != nil {
		s.copyShape = copyShape{outline: outline}
		return s.copyBytes(t, t.copyStart(sp, copying.RedZone), copying.TopBytes)
	}
	return s.copyStack(t, sp, below)
}

func (s *RawSample) copyStack(t *Thread, sp, below frames.Addr) error {
	s.copyShape = copyShape{}
	from := t.copyStart(sp, below)
	hints := t.hints()
	asked, end := hints.Bytes, hints.CopyEnd
	if end > from && end-from < uint64(asked) {
		s.Limit, asked = copying.LimitCopyEnd, int(end-from)
	}
	return s.copyBytes(t, from, asked)
}

func (t *Thread) copyStart(sp, below frames.Addr) frames.Addr {
	from := sp - below
	if t.Memory != nil && from&^0xfff != sp&^0xfff && t.Memory.MappingStart(sp) > from {
		return sp
	}
	return from
}

func (s *RawSample) copyBytes(t *Thread, from frames.Addr, asked int) error {
	s.buffers.reserveStack(asked)
	n, err := t.copy(from, s.buffers.stack[:asked])
	// An unmapped stack is empty.
	if n == 0 && err != nil && !errors.Is(err, procmem.ErrFault) {
		return err
	}
	s.setStack(from, n, asked)
	return nil
}

// copy returns the number of bytes. By the ID of an ended first thread, reads return 0 bytes.
func (t *Thread) copy(from frames.Addr, buf []byte) (int, error) {
	if t.Memory == nil {
		return procmem.ReadVM(t.TID, from, buf)
	}
	return t.Memory.Copy(t.TID, from, buf), nil
}

// setStack sets the copied stack. If all asked bytes were copied, it may go on for [copying.MaxUsual].
func (s *RawSample) setStack(from frames.Addr, n, asked int) {
	s.Mem = frames.Snapshot{Stack: frames.Region{Addr: from, Bytes: s.buffers.stack[:n]}, Others: s.Mem.Others[:0]}
	s.Mem.StackEnd = from + uint64(n)
	if n == asked {
		s.Mem.StackEnd += copying.MaxUsual
	}
}
