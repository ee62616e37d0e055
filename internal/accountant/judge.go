package accountant

import (
	"prywalk/frames"
	"prywalk/internal/handover"
	"prywalk/internal/look"
)

const (
	// A process goes to ptrace if at least leastWanting of its samples, and one in wantingShare, had no complete stack.
	// Below eight the share would be known to no better than a third.
	leastWanting = 8
	wantingShare = 100
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
	p.walked.all++
	known.walked.all++
	if stop.Complete() || stop == frames.StopDepth || stop == frames.StopStackCut && !away && !s.Longest() {
		return
	}
	p.walked.wanting++
	known.walked.wanting++
	if p.walked.tooMany() || known.walked.tooMany() {
		p.Lacks(handover.LacksRoots)
		known.lack = max(known.lack, handover.LacksRoots)
	}
}

// tooMany reports whether so many of the samples have no complete stack that ptrace is to look.
func (n *samplesWalked) tooMany() bool {
	return n.wanting >= leastWanting && n.wanting*wantingShare >= n.all
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
