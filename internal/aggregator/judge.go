// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/frames"
	"prywalk/internal/handover"
	"prywalk/internal/observe"
)

const (
	// A process is switched to ptrace if at least leastWanting of its samples, and one in wantingShare, were
	// incomplete: below eight the share has an error above a third. A larger share needs fewWanting, and one in
	// fewShare.
	leastWanting, wantingShare = 8, 100
	fewWanting, fewShare       = 3, 4
)

// samplesWalked counts the walks of samples, of a process or of a program.
type samplesWalked struct{ all, wanting int64 }

// judge counts the walk of a sample. A copy that was too short does not count if the next can be longer.
func (p *processAccount) judge(s *observe.RawSample, stop frames.StopReason, away bool) {
	if s.How != observe.BySample {
		return
	}
	known := p.program
	if known == nil {
		known = &program{}
	}
	wanting := !stop.Complete() && stop != frames.StopDepth && (stop != frames.StopStackCut || away || s.Longest())
	p.walked.note(wanting)
	known.walked.note(wanting)
	if wanting && (p.walked.tooMany() || known.walked.tooMany()) {
		p.SetFallback(handover.FallbackRoots)
		known.lack = max(known.lack, handover.FallbackRoots)
	}
}

// judgeUndiscovered counts the walk of a sample of an undiscovered process, for its program and for all such processes,
// if it ended beyond the copied stack.
func (a *Aggregator) judgeUndiscovered(e *handover.Event, stop frames.StopReason) {
	raw := e.RawSample
	if raw.How != observe.BySample || e.Ran == nil || e.Ran.Of != nil || raw.Regs.Arch == frames.ArchUnknown {
		return
	}
	known := a.programs.of(a.unwind.listed(e.Proc, e.Ran).code)
	if known == nil {
		known = &program{}
	}
	wanting := stop == frames.StopStackCut || stop == frames.StopBadMemory
	known.walked.note(wanting)
	a.undiscovered.note(wanting)
	if wanting && known.walked.tooMany() {
		known.lack = max(known.lack, handover.FallbackRoots)
	}
	if known.lack >= handover.FallbackRoots || a.undiscovered.tooMany() {
		a.UndiscoveredLackRoots.Store(true)
	}
}

// note counts a walk; wanting: it did not reach the root.
func (n *samplesWalked) note(wanting bool) {
	if n.all++; wanting {
		n.wanting++
	}
}

// tooMany reports whether the incomplete share requires ptrace.
func (n *samplesWalked) tooMany() bool {
	return n.wanting >= leastWanting && n.wanting*wantingShare >= n.all ||
		n.wanting >= fewWanting && n.wanting*fewShare >= n.all
}

// measure notes how much of the stack a walk used.
func (p *processAccount) measure(s *observe.RawSample, stop frames.StopReason, w *frames.Walker) {
	if s.How != observe.BySample {
		return
	}
	used := int64(w.Reach() - s.Mem.Stack.Addr)
	switch {
	case stop == frames.StopStackCut && !w.Away():
		used = handover.CutStack
	case used < 0 || used > int64(len(s.Mem.Stack.Bytes)):
		return // invalid walk
	}
	p.UsedStack(used)
}
