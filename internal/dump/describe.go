// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/managed"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
)

func describeThread(t *code.Process, w *stackWalker, tid int, s *observe.RawSample) Thread {
	th := Thread{TID: tid, Name: threadName(t, tid), State: s.State.Letter(), Wait: s.WaitReason(), How: s.How.String(),
		RunCount: s.Sched.Runs}
	if end := t.StackEnd(s.Mem.Stack.Addr); end != 0 {
		s.Mem.StackEnd = end
	}
	w.arch = s.Regs.Arch
	th.Frames = w.run(t.Space(), t.Runtimes().FrameSources(), &managed.Sample{
		TID: nsTID(t, tid), Regs: &s.Regs, Mem: &s.Mem, At: s.At, Asleep: s.How == observe.ByPassiveRead,
		Live: &callstack.Live{ReadMemory: t.Read, PID: t.PID, TID: tid, RunCount: s.Sched.Runs},
	})
	th.holds = callstack.HeldLocks(t.Runtimes().FrameSources())
	th.Frames, th.Complete, th.StopReason = w.end(th.Frames)
	return th
}

func threadName(t *code.Process, tid int) string {
	if name, ok := givenName(t, tid); ok {
		return name
	}
	return t.ThreadName(tid)
}

func givenName(t *code.Process, tid int) (string, bool) {
	sources := t.Runtimes().FrameSources()
	if len(sources) == 0 {
		return "", false
	}
	return callstack.ThreadName(sources, nsTID(t, tid))
}

// nsTID gives a thread's ID in its own pid namespace, as run-time systems know it.
func nsTID(t *code.Process, tid int) int {
	if len(t.Runtimes().FrameSources()) > 0 {
		if inner := procmem.InnerID(tid); inner != 0 {
			return inner
		}
	}
	return tid
}
