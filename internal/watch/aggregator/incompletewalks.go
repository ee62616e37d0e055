// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

const (
	// A process is switched to ptrace if at least minIncomplete samples, and one in incompleteShare, are incomplete
	// (below eight the share's error exceeds a third), or at least fewIncomplete, and one in fewShare.
	minIncomplete, incompleteShare = 8, 100
	fewIncomplete, fewShare        = 3, 4
)

type samplesWalked struct{ all, incomplete int64 }

// countWalk counts the walk of a kernel sample. With too many incomplete walks the process is left to ptrace
// ([target.LacksOuterFrames]).
func (p *processState) countWalk(s *observe.RawSample, end frames.StopReason) {
	if s.How != observe.ByKernelSample {
		return
	}
	incomplete := !end.Complete() && end != frames.StopDepth
	p.walked.count(incomplete)
	p.history.walked.count(incomplete)
	if incomplete && (p.walked.tooManyIncomplete() || p.history.walked.tooManyIncomplete()) {
		p.process.RaiseLack(target.LacksOuterFrames)
		p.history.lack = max(p.history.lack, target.LacksOuterFrames)
	}
}

func (s *samplesWalked) count(incomplete bool) {
	if s.all++; incomplete {
		s.incomplete++
	}
}

func (s *samplesWalked) tooManyIncomplete() bool {
	return s.incomplete >= minIncomplete && s.incomplete*incompleteShare >= s.all ||
		s.incomplete >= fewIncomplete && s.incomplete*fewShare >= s.all
}

const maxPrograms = 4096 // files

type programHistories map[loadedcode.ProgramFile]*programHistory

// programHistory is what walks have shown, for the next process of the file.
type programHistory struct {
	walked       samplesWalked
	lack         target.SampleLack
	deepestStack int64 // of a first thread's walks, bytes
}

func (p *programHistory) applyTo(proc *target.Process) {
	proc.RaiseLack(p.lack)
	proc.SetFirstCopy(p.deepestStack)
}

func (p *programHistory) rememberDeepest(th *target.Thread, s *observe.RawSample, w *frames.Walker) {
	from, reach := s.Mem.Stack.Addr, w.HighestSP()
	inStack := !w.OnOtherStack() && reach > from && reach <= s.Mem.StackEnd
	if th.IsFirst() && w.StopReason().Complete() && inStack {
		p.deepestStack = max(p.deepestStack, int64(reach-from)+walkBeyond)
	}
}

// walkBeyond is added to the next process's first copy, bytes: environments differ in size.
const walkBeyond = 16 << 10

// historyOf returns an empty history, which no other process gets, if the file is unknown or one too many.
func (p programHistories) historyOf(proc interface {
	Program() (loadedcode.ProgramFile, bool)
},
) *programHistory {
	file, known := proc.Program()
	history := p[file]
	if history == nil {
		history = &programHistory{}
		if known && len(p) < maxPrograms {
			p[file] = history
		}
	}
	return history
}

// ApplyKnownProgram applies to a new process what is known of its file. Precondition: the aggregator's goroutine.
func (a *Aggregator) ApplyKnownProgram(p *target.Process) {
	a.states.histories.historyOf(p.Code).applyTo(p)
}
