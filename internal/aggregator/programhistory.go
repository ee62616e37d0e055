// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/frames"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
	"prywalk/internal/target"
)

const maxPrograms = 4096 // files

type programHistories map[loadedcode.ProgramFile]*programHistory

// programHistory is what walks have shown, for the next process of the file.
type programHistory struct {
	walked       samplesWalked
	lack         target.SampleLack
	deepestStack int64 // of a first thread's walks, bytes
}

func (p *programHistory) applyTo(proc *target.Process) {
	proc.NoteLack(p.lack)
	proc.SetFirstCopy(p.deepestStack)
}

func (p *programHistory) noteDeepest(th *target.Thread, s *observe.RawSample, w *frames.Walker) {
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
func (s *states) ApplyKnownProgram(p *target.Process) {
	s.histories.historyOf(p.Target).applyTo(p)
}
