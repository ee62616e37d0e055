// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/handover"
	"prywalk/internal/look"
)

// # Programs that run again
//
// What the kernel's samples lack of a process shows only in its samples. A build starts a compiler a hundred times, and
// each of these processes would lose its first samples. So what was learned of the file that a process runs holds
// for the next process that runs it, and the samples of all of them are judged together.

// mostPrograms bounds how many files are remembered.
const mostPrograms = 4096

// programs is what was learned of files that processes run. It belongs to the accountant.
type programs map[code.ProgramFile]*program

// program is what was learned of one.
type program struct {
	walked samplesWalked
	lack   handover.Lack
	deep   int64 // bytes of stack that the walk of a first thread has used at most
}

// tell notes what was learned of a program for a process that runs it.
func (k *program) tell(p *handover.Process) {
	p.Lacks(k.lack)
	p.CopyFirst(k.deep)
}

// deepest notes how much of its stack a complete walk of a process's first thread has used.
func (k *program) deepest(thr *threadAccount, s *look.Shot, w *frames.Walker) {
	from, reach := s.Mem.Stack.Addr, w.Reach()
	inStack := !w.Away() && reach > from && reach <= s.Mem.StackEnd
	if thr.TID == thr.proc.Target.PID && w.StopReason().Complete() && inStack {
		k.deep = max(k.deep, int64(reach-from)+walkBeyond)
	}
}

// walkBeyond is what the first look at the next process copies besides, in bytes: stacks differ by their environment.
const walkBeyond = 16 << 10

// of gives what is known of the file that a process runs; nil if the file is not known.
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

// Recall notes what samples lack of a process that is about to be taken on, as far as it was learned of another process
// of the same file. It belongs to the accountant's goroutine.
func (a *Accountant) Recall(p *handover.Process) {
	if known := a.programs.of(p.Target); known != nil {
		known.tell(p)
	}
}
