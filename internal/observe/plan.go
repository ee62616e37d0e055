// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/observe/copyplan"
	"prywalk/internal/procmem"
	"prywalk/internal/waits"
	"prywalk/ptrace"
)

type plannedMemory struct {
	ptrace.Wrapped
	copyplan.Copier
}

// ReadLimit implements [ptrace.ReadLimiter].
func (*plannedMemory) ReadLimit() int { return copyplan.MaxReads }

// Regions implements [ptrace.OtherMemory].
func (p *plannedMemory) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	return p.Copy(regs, rd, out, p.InnerRegions(regs, rd, out))
}

func (t *Thread) plan() (*managed.Plan, frames.Addr) {
	hints := t.hints()
	plan, anchor := hints.Plan, hints.Anchor
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

// SetPlan makes the next observations carry out a plan from an anchor on; nil: none. isNew: there is a plan, and it or
// the anchor has changed; an unchanged thread is then read again.
func (feedback *WalkFeedback) SetPlan(p *managed.Plan, anchor frames.Addr) (isNew bool) {
	if feedback.reads.Plan == p && feedback.reads.Anchor == anchor {
		return false
	}
	feedback.reads.Plan, feedback.reads.Anchor = p, anchor
	feedback.readAgainIf(p != nil)
	feedback.handOver()
	return p != nil
}

// WaitsForRuntimeLock reports whether a sleeper waits for its runtime's lock, which computing threads pass on.
func (t *Thread) WaitsForRuntimeLock(call *procmem.SyscallInfo) bool {
	plan := t.hints().Plan
	if plan == nil || plan.GlobalLock[1] == 0 || call.Nr != unix.SYS_FUTEX {
		return false
	}
	word, ok := waits.FutexWord(&call.Args)
	return ok && word >= plan.GlobalLock[0] && word < plan.GlobalLock[1]
}
