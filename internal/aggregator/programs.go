// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/handover"
	"prywalk/internal/observe"
)

// # Programs that run again
//
// Whether the kernel's samples suffice for a program is judged for all processes of its file together, and remembered
// for the next one.

// mostPrograms bounds the remembered files.
const mostPrograms = 4096

// programs is the state by file. It belongs to the aggregator.
type programs map[code.ProgramFile]*program

type program struct {
	walked samplesWalked
	lack   handover.SampleLack
	deep   int64 // most bytes of stack used by a walk of a first thread
}

// applyTo copies the state of a program to a process that runs it.
func (k *program) applyTo(p *handover.Process) {
	p.NoteLack(k.lack)
	p.CopyFirst(k.deep)
}

// deepest notes the stack bytes used by a complete walk of a process's first thread.
func (k *program) deepest(thr *threadAccount, s *observe.RawSample, w *frames.Walker) {
	from, reach := s.Mem.Stack.Addr, w.Reach()
	inStack := !w.Away() && reach > from && reach <= s.Mem.StackEnd
	if thr.TID == thr.proc.Target.PID && w.StopReason().Complete() && inStack {
		k.deep = max(k.deep, int64(reach-from)+walkBeyond)
	}
}

// walkBeyond is added to the first copy of the next process, in bytes, as environments differ in size.
const walkBeyond = 16 << 10

// of gives the state of a process's file; nil if unknown.
func (k programs) of(p interface {
	Program() (code.ProgramFile, bool)
},
) *program {
	file, ok := p.Program()
	if !ok {
		return nil
	}
	known := k[file]
	if known == nil && len(k) < mostPrograms {
		known = &program{}
		k[file] = known
	}
	return known
}

// Recall applies what is known of a new process's file to it. It is called on the aggregator's goroutine.
func (a *accounts) Recall(p *handover.Process) {
	if known := a.programs.of(p.Target); known != nil {
		known.applyTo(p)
	}
}
