// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"prywalk/frames"
	"prywalk/internal/handover"
	"prywalk/internal/look"
)

const (
	// A process goes to ptrace if at least leastWanting of its samples, and one in wantingShare, had no complete stack.
	// Below eight the share would be known to no better than a third. A share that is much greater shows sooner: at
	// least fewWanting, and one in fewShare.
	leastWanting, wantingShare = 8, 100
	fewWanting, fewShare       = 3, 4
)

// samplesWalked counts the walks of samples, of a process or of all processes of a program. It belongs to the
// accountant.
type samplesWalked struct{ all, wanting int64 }

// judge takes note of the walk of a sample. A copy that was too short is not held against the process if the next can
// be longer.
func (p *processAccount) judge(s *look.Shot, stop frames.StopReason, away bool) {
	if s.How != look.BySample {
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
		p.Lacks(handover.LacksRoots)
		known.lack = max(known.lack, handover.LacksRoots)
	}
}

// judgeUnmet takes note of the walk of a sample of a process that was not met yet, or never is. Its program is judged
// as in [processAccount.judge], and all such processes together. Of their memory only mappings of code are known, so
// that what lies beyond the copy of a stack is bad memory. Other ends are not counted: a stop lacks as much in an exec.
func (a *Accountant) judgeUnmet(e *handover.Event, stop frames.StopReason) {
	if e.Shot.How != look.BySample || e.Ran == nil || e.Ran.Of != nil || e.Shot.Regs.Arch == frames.ArchUnknown {
		return
	}
	known := a.programs.of(a.unwind.listed(e.Proc, e.Ran).code)
	if known == nil {
		known = &program{}
	}
	wanting := stop == frames.StopStackCut || stop == frames.StopBadMemory
	known.walked.note(wanting)
	a.unmet.note(wanting)
	if wanting && known.walked.tooMany() {
		known.lack = max(known.lack, handover.LacksRoots)
	}
	if known.lack >= handover.LacksRoots || a.unmet.tooMany() {
		a.UnmetLackRoots.Store(true)
	}
}

// note counts a walk. wanting: it did not reach the root.
func (n *samplesWalked) note(wanting bool) {
	if n.all++; wanting {
		n.wanting++
	}
}

// tooMany reports whether so many of the samples have no complete stack that ptrace is to look.
func (n *samplesWalked) tooMany() bool {
	return n.wanting >= leastWanting && n.wanting*wantingShare >= n.all ||
		n.wanting >= fewWanting && n.wanting*fewShare >= n.all
}

// measure notes how much of its stack the walk of a sample has used.
func (p *processAccount) measure(s *look.Shot, stop frames.StopReason, w *frames.Walker) {
	if s.How != look.BySample {
		return
	}
	used := int64(w.Reach() - s.Mem.Stack.Addr)
	switch {
	case stop == frames.StopStackCut && !w.Away():
		used = handover.CutStack
	case used < 0 || used > int64(len(s.Mem.Stack.Bytes)):
		return // it has gone astray
	}
	p.UsedStack(used)
}
