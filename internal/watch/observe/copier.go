// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

type copier struct {
	reader      ptrace.Reader
	otherStacks otherStacks
	plan        planCopier
	regions     [maxRegions]frames.Region
}

func (c *copier) fillRequest(t *Thread, s *RawSample, req *ptrace.Request) {
	*req = ptrace.Request{
		Stack: s.buffers.stack, Memory: t.Memory, Files: t.files,
		OtherMemory: c.otherMemory(t, false), Regions: c.regions[:],
	}
}

func (c *copier) keepCopy(t *Thread, s *RawSample, stop *ptrace.Stop) {
	s.setStack(stop.Copy.StackAddr, stop.Copy.StackLen, stop.Copy.StackAsked)
	s.Limits.outOfTime = stop.Copy.OutOfTime
	s.keepOthers(c.regions[:stop.Regions])
	t.copies.stackBytes = stop.Copy.StackLen
	t.copies.otherBytes = max(len(s.buffers.others), t.copies.otherBytes-t.copies.otherBytes/8)
}

// prepareBuffers is called before the interrupt, because it may allocate.
func (c *copier) prepareBuffers(t *Thread, s *RawSample) {
	others := t.copies.otherBytes
	s.buffers.reserveOthers(others)
	if t.OtherMemory != nil {
		others = max(others, expectedTaskBytes)
	}
	s.buffers.reserveStack(t.hints.stack.size.toReserve(others))
	s.buffers.touch(t.copies.stackBytes)
}

// expectedTaskBytes is the least expected other memory of a thread with tasks.
const expectedTaskBytes = 24 << 10

func (c *copier) copyOtherMemory(t *Thread, s *RawSample) {
	t.prepareFindAnchor()
	other := c.otherMemory(t, true)
	if other == nil {
		return
	}
	s.Regs.TLS = t.threadPointer()
	c.reader = ptrace.NewReader(t.ID.TID, t.Memory)
	if plan, _ := t.plan(); plan != nil {
		c.reader.AllowReads(other.ReadLimit())
		c.reader.SetStack(s.Mem.Stack.Addr, s.Mem.Stack.Bytes)
	}
	n := other.Regions(&s.Regs, &c.reader, c.regions[:])
	s.keepOthers(c.regions[:n])
}

func (c *copier) otherMemory(t *Thread, asleep bool) ptrace.OtherMemory {
	places, inner := &t.hints.stack.stackPlaces, c.withPlan(t, t.OtherMemory, asleep)
	if places[0].at == 0 {
		return inner
	}
	c.otherStacks.Inner, c.otherStacks.places = inner, places
	for i := range places {
		n := places[i].copyBytes()
		if places[i].at != 0 && len(c.otherStacks.bufs[i]) < n {
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
	c.plan.asleep = asleep
	c.plan.use(plan, anchor, t.copies.innerTID, &t.copies.foundAnchor)
	if plans := t.processPlans(); len(plans) > 1 {
		c.plan.others = plans
	}
	return &c.plan
}

func (s *RawSample) copyStack(t *Thread, sp, below frames.Addr) error {
	s.Limits = copyLimits{}
	return s.copyBytes(t, t.copyStart(sp, below), t.hints.stack.size.bytes)
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
		return procmem.ReadVM(t.ID.TID, from, buf)
	}
	return t.Memory.Copy(t.ID.TID, from, buf), nil
}

// setStack sets the copied stack. If all asked bytes were copied, it may go on for [maxUsualStack].
func (s *RawSample) setStack(from frames.Addr, n, asked int) {
	s.Mem = frames.Snapshot{Stack: frames.Region{Addr: from, Bytes: s.buffers.stack[:n]}, Others: s.Mem.Others[:0]}
	s.Mem.StackEnd = from + uint64(n)
	if n == asked {
		s.Mem.StackEnd += maxUsualStack
	}
}
