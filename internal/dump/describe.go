// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"time"

	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/managed"
	"prywalk/internal/namehints"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
)

func describe(t *code.Process, w *walk, tid int, s *observe.RawSample) Thread {
	th := Thread{TID: tid, Name: threadName(t, tid), State: s.State.Letter(), Wait: s.WaitReason(), How: s.How.String(),
		RunCount: s.Sched.Runs}
	if end := t.StackEnd(s.Mem.Stack.Addr); end != 0 {
		s.Mem.StackEnd = end
	}
	w.arch = s.Regs.Arch
	th.Frames = w.run(t.Space(), t.Runtimes().Namers(), &managed.Sample{
		TID: innerTID(t, tid), Regs: &s.Regs, Mem: &s.Mem, At: s.At, Asleep: s.How == observe.ByPassiveRead,
		Live: &callstack.Live{Mem: t.Read, PID: t.PID, TID: tid, Runs: s.Sched.Runs},
	})
	th.holds = callstack.Holds(t.Runtimes().Namers())
	th.Complete, th.StopReason = w.ended()
	if !th.Complete {
		th.Frames = append(th.Frames, Frame{Place: &Place{Function: namehints.IncompleteName(th.StopReason)}})
	}
	return th
}

// threadName prefers a run-time system's name to the kernel's.
func threadName(t *code.Process, tid int) string {
	if name, ok := givenName(t, tid); ok {
		return name
	}
	return t.ThreadName(tid)
}

func givenName(t *code.Process, tid int) (string, bool) {
	namers := t.Runtimes().Namers()
	if len(namers) == 0 {
		return "", false
	}
	return callstack.ThreadName(namers, innerTID(t, tid))
}

// Retries of unreadable names, mostly during garbage collection.
const (
	namesAgain = 25
	namesWait  = 4 * time.Millisecond
)

func (l *results) rename(t *code.Process) {
	for n := 0; n < namesAgain && callstack.Postponed(t.Runtimes().Namers()); n++ {
		time.Sleep(namesWait)
		l.Lock()
		threads := l.threads
		l.Unlock()
		for i := range threads {
			name, ok := givenName(t, threads[i].TID) // it may hang
			l.Lock()
			if ok {
				l.threads[i].Name = name
			}
			l.Unlock()
		}
	}
}

// innerTID gives a thread's number in its own pid namespace.
func innerTID(t *code.Process, tid int) int {
	if len(t.Runtimes().Namers()) > 0 {
		if inner := procmem.InnerID(tid); inner != 0 {
			return inner
		}
	}
	return tid
}
