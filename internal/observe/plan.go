// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/observe/copyplan"
	"prywalk/internal/procmem"
	"prywalk/internal/waits"
	"prywalk/ptrace"
)

// planExtra copies what a plan of a run-time system names, in addition to what Inner copies.
type planExtra struct {
	Wrapped
	copyplan.Copier
}

// Reads implements [ptrace.ManyReads].
func (*planExtra) Reads() int { return copyplan.MaxReads }

// Regions implements [ptrace.Extra].
func (p *planExtra) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	return p.Copy(regs, rd, out, p.regions(regs, rd, out))
}

// withPlan returns an Extra that also carries out the thread's plan, if any.
func (c *copier) withPlan(t *Thread, inner ptrace.Extra) ptrace.Extra {
	hints := t.hints.get()
	plan, anchor := hints.Plan, hints.Anchor
	if plan == nil && t.Plans != nil {
		plan, anchor = t.Plans.Load(), 0
	}
	if plan == nil || anchor == 0 && len(plan.Find) == 0 {
		return inner
	}
	c.plan.Inner = inner
	c.plan.Use(plan, anchor, t.TID, &t.lastPlan)
	return &c.plan
}

// Plan makes the next observations carry out a plan from an anchor on; nil: none. again: the plan is new, so the thread
// is read again.
func (feedback *WalkFeedback) Plan(p *managed.Plan, anchor frames.Addr) (again bool) {
	if feedback.hints.Plan == p && feedback.hints.Anchor == anchor {
		return false
	}
	feedback.hints.Plan, feedback.hints.Anchor = p, anchor
	feedback.readAgainIf(p != nil)
	feedback.handOver()
	return p != nil
}

// WaitsForRuntimeLock reports whether a sleeper waits for its run-time system's lock, which computing threads pass on.
func (t *Thread) WaitsForRuntimeLock(call *procmem.SyscallInfo) bool {
	plan := t.hints.get().Plan
	if plan == nil || plan.Lock[1] == 0 || call.Nr != futexCall(hostArch()) {
		return false
	}
	word, ok := waits.FutexWord(&call.Args)
	return ok && word >= plan.Lock[0] && word < plan.Lock[1]
}
