package dump

import (
	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// describe walks a shot and names its frames.
func describe(t *code.Process, w *walk, tid int, s *look.Shot) Thread {
	th := Thread{TID: tid, Name: threadName(t, tid), State: s.State.Letter(), Wait: s.Wait(), How: s.How.String()}
	if end := t.StackEnd(s.Mem.Stack.Addr); end != 0 {
		s.Mem.StackEnd = end
	}
	w.arch = s.Regs.Arch
	th.Frames = w.run(t.Space(), t.Namers(), &managed.Sample{
		TID: innerTID(t, tid), Regs: &s.Regs, Mem: &s.Mem, At: s.At, Asleep: s.How == look.ByPeek,
		Live: &callstack.Live{Mem: t.Read, PID: t.PID, TID: tid, Runs: s.Sched.Runs},
	})
	stop := w.StopReason()
	th.Complete, th.StopReason = stop.Complete(), stop.String()
	if !th.Complete {
		th.Frames = append(th.Frames, Frame{Function: "[incomplete: " + th.StopReason + "]"})
	}
	return th
}

// threadName gives the name that the program has for a thread, where a run-time system knows it, else the kernel's.
func threadName(t *code.Process, tid int) string {
	if name, ok := callstack.ThreadName(t.Namers(), innerTID(t, tid)); ok {
		return name
	}
	return t.ThreadName(tid)
}

// innerTID gives a thread's number as run-time systems know it: in its own pid namespace.
func innerTID(t *code.Process, tid int) int {
	if len(t.Namers()) > 0 {
		if inner := procmem.InnerID(tid); inner != 0 {
			return inner
		}
	}
	return tid
}
