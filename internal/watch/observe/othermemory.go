// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/walk/managed"
	"prywalk/ptrace"
)

// # Memory besides the stack
//
// A walk may need more than the thread's own stack. Each [OtherMemory] wraps the one before:
//
//	taskStacks   taskstack.go   the stack of the goroutine that the thread has left
//	planCopier   plancopier.go  what a runtime's plan names: frames that are objects
//	otherStacks                 around places on other stacks, where walks lacked memory (otherstacks.go)

// OtherMemory copies memory besides the thread's stack.
type OtherMemory = ptrace.OtherMemory

// MemoryRegion copies the memory at Addr.
type MemoryRegion struct {
	ptrace.Wrapped
	Addr  uint64 // 0 means none
	Bytes []byte
}

// Regions implements [ptrace.OtherMemory].
func (r *MemoryRegion) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := r.InnerRegions(regs, rd, out)
	if r.Addr == 0 || n == len(out) {
		return n
	}
	got := rd.Read(r.Addr, r.Bytes)
	out[n] = frames.Region{Addr: r.Addr, Bytes: r.Bytes[:got]}
	return n + 1
}

func (t *Thread) plan() (*managed.Plan, frames.Addr) {
	hints := t.hints
	plan, anchor := hints.reads.Plan, hints.reads.Anchor
	if plans := t.processPlans(); plan == nil && len(plans) > 0 {
		plan, anchor = plans[0], 0
	}
	if plan == nil || anchor == 0 && len(plan.FindAnchor) == 0 && !plan.FromThreadPointer {
		return nil, 0
	}
	return plan, anchor
}

func (t *Thread) processPlans() []*managed.Plan {
	if t.Plans == nil {
		return nil
	}
	if plans := t.Plans.Load(); plans != nil {
		return *plans
	}
	return nil
}

// Precondition: the thread is not stopped.
func (t *Thread) prepareFindAnchor() {
	if t.copies.innerTID != 0 {
		return
	}
	if plan, anchor := t.plan(); plan == nil || anchor != 0 && len(t.processPlans()) < 2 {
		return
	}
	t.copies.innerTID, _ = t.files.InnerTID() // 0 if the thread has ended
}

// SetPlan makes the next observations carry out a plan from an anchor on; nil means none. isNew means that there is a
// plan, and it or the anchor has changed; an unchanged thread is then read again.
func (feedback *WalkFeedback) SetPlan(p *managed.Plan, anchor frames.Addr) (isNew bool) {
	if feedback.reads.Plan == p && feedback.reads.Anchor == anchor {
		return false
	}
	feedback.reads.Plan, feedback.reads.Anchor = p, anchor
	feedback.readAgainIf(p != nil)
	feedback.handOver()
	return p != nil
}

type otherStacks struct {
	ptrace.Wrapped
	places *[maxOtherStacks]otherStack
	bufs   [maxOtherStacks][]byte // of at least copyBytes of each place
}

// Regions implements [ptrace.OtherMemory].
func (o *otherStacks) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := o.InnerRegions(regs, rd, out)
	first := n
	for i := range o.places {
		place := &o.places[i]
		if place.at == 0 || n == len(out) {
			continue
		}
		buf := o.bufs[i][:place.copyBytes()]
		r, ok := readLinkedStack(rd, place, out[:n], buf)
		if !ok && !holdsStackAt(out[first:n], place.at) && !(place.firstStack && onFirstStack(place.at, regs.SP())) {
			r = readOtherStack(rd, place.at, buf)
		}
		if len(r.Bytes) > 0 {
			out[n] = r
			n++
		}
	}
	return n
}

// readLinkedStack reads the stack to which a link leads now. It returns false if it leads to none that can be read, and
// no bytes if these are copied.
func readLinkedStack(rd *ptrace.Reader, place *otherStack, copied []frames.Region, buf []byte) (
	r frames.Region, ok bool,
) {
	if place.link.At == 0 {
		return r, false
	}
	stack := frames.Snapshot{Others: copied}
	stack.Stack.Addr, _ = rd.Stack()
	stack.Stack.Bytes = rd.StackBytes()
	word, ok := stack.Word(place.link.At)
	if !ok {
		word, ok = rd.Word(place.link.At)
	}
	at := word + uint64(place.link.Off)
	if !ok || at%8 != 0 || at < linkBelow {
		return r, false
	}
	if _, ok := stack.Word(at); ok {
		return r, true
	}
	from := max(at-linkBelow, rd.MappingStart(at))
	if place.root > at && place.root+copyMargin-from < uint64(len(buf)) {
		buf = buf[:place.root+copyMargin-from]
	}
	n := rd.Read(from, buf)
	return frames.Region{Addr: from, Bytes: buf[:n]}, n > 0
}

func onFirstStack(addr, sp frames.Addr) bool {
	return addr+firstStackBytes-sp <= maxUsualStack
}

func readOtherStack(rd *ptrace.Reader, addr frames.Addr, buf []byte) frames.Region {
	from := max(max(addr, otherStackBelow)-otherStackBelow, rd.MappingStart(addr))
	got := rd.Read(from, buf)
	if uint64(got) < addr+8-from { // the stack begins later
		from = addr &^ 0xfff
		got = rd.Read(from, buf)
	}
	return frames.Region{Addr: from, Bytes: buf[:got]}
}

func holdsStackAt(rs []frames.Region, addr frames.Addr) bool {
	for i := range rs {
		if off := addr - rs[i].Addr; off+otherStackBelow < uint64(len(rs[i].Bytes)) {
			return true
		}
	}
	return false
}
