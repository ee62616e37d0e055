// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/frames"
	"prywalk/internal/handover"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
)

// # Programs that run again
//
// Whether kernel samples suffice is judged for all processes of a file together, and kept for the next one.

const mostPrograms = 4096 // remembered files

// programs belongs to the aggregator.
type programs map[loadedcode.ProgramFile]*program

type program struct {
	walked       samplesWalked
	lack         handover.SampleLack
	deepestStack int64 // most bytes in a walk of a first thread
}

func (p *program) applyTo(proc *handover.SharedProcess) {
	proc.NoteLack(p.lack)
	proc.SetFirstCopy(p.deepestStack)
}

func (p *program) noteDeepest(thr *threadAccount, s *observe.RawSample, w *frames.Walker) {
	from, reach := s.Mem.Stack.Addr, w.HighestSP()
	inStack := !w.OnOtherStack() && reach > from && reach <= s.Mem.StackEnd
	if thr.TID == thr.proc.Target.PID && w.StopReason().Complete() && inStack {
		p.deepestStack = max(p.deepestStack, int64(reach-from)+walkBeyond)
	}
}

// walkBeyond is added to the next process's first copy, bytes: environments differ in size.
const walkBeyond = 16 << 10

// stateOf returns the state of a process's file; nil: unknown, or too many.
func (p programs) stateOf(proc interface {
	Program() (loadedcode.ProgramFile, bool)
},
) *program {
	file, ok := proc.Program()
	if !ok {
		return nil
	}
	known := p[file]
	if known == nil && len(p) < mostPrograms {
		known = &program{}
		p[file] = known
	}
	return known
}

// ApplyKnownProgram applies to a new process what is known of its file. Precondition: the aggregator's goroutine.
func (a *accounts) ApplyKnownProgram(p *handover.SharedProcess) {
	if known := a.programs.stateOf(p.Target); known != nil {
		known.applyTo(p)
	}
}
