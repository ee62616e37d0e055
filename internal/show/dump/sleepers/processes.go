// SPDX-License-Identifier: Apache-2.0

package sleepers

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/host/procmem"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/walk"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/core"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
)

// NewLive returns the explainer of a live process.
func NewLive(t *loadedcode.Process, names *symbols.Namer, threads waits.ThreadFinder) *Explainer {
	return &Explainer{
		pid: t.PID, names: names, space: t.Space, files: waits.NewOpenFiles(t.PID), Owners: threads, Read: t.Read,
		Name: func(tid int) string { return walk.ThreadName(t, tid) },
		managed: managedWaitsOf(t.Runtimes(), func(q *managed.WaitQuery, tid int, runs uint64) {
			q.Live = &callstack.Live{ReadMemory: t.Read, PID: t.PID, TID: tid, RunCount: runs}
			q.InnerTID = walk.InnerTID(t, tid)
		}),
		Sleepers: map[int]*waits.Sleeper{}, idleness: map[idleKey]waits.Idleness{},
		sameTimeNamespace: sharesTimeNamespace(t.PID),
	}
}

// sharesTimeNamespace reports whether a process is in prywalk's time namespace (time_namespaces(7)).
func sharesTimeNamespace(pid int) bool {
	own, err := os.Readlink("/proc/self/ns/time")
	if errors.Is(err, fs.ErrNotExist) {
		return true // before Linux 5.6
	}
	its, err2 := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/time")
	return err == nil && err2 == nil && own == its
}

// Explain sets what a thread waits for by its sample; nothing if it runs.
func (e *Explainer) Explain(d *stacks.Thread, s *observe.RawSample) {
	e.Retryable = false
	if s.State == sample.Running {
		return
	}
	word := s.FutexCopy()
	word.Bytes = slices.Clone(word.Bytes)
	sl := &waits.Sleeper{
		State: s.State.Letter()[0], Reason: s.WaitReason(), Args: s.Call.Args, InCall: s.Call.Nr >= 0, Memory: word,
	}
	if e.sameTimeNamespace {
		sl.At = int64(s.At)
	}
	sl.Managed = e.managedAsker(d.TID, sl, s.Sched.Runs, &s.Mem)
	e.describe(d, sl)
	if w := d.WaitsFor; w != nil && w.IsReadLater() && e.hasGoneOn(d.TID, s) {
		isOpen := w.FD != nil || len(w.FDs) > 0
		if w.ForgetReadLater(); !isOpen {
			return
		}
		if e.renewals++; e.renewals <= maxRenewals {
			e.Retryable, e.files = true, waits.NewOpenFiles(e.pid)
		}
	}
}

// maxRenewals bounds the readings of all sockets, for threads that had gone on.
const maxRenewals = 8

// maxWakeWaits bounds the waits, of 1 ms, for threads that their stop has woken.
const maxWakeWaits = 20

// hasGoneOn: a stop makes a thread run, and its call's number change (restart_syscall(2)), but not its arguments.
func (e *Explainer) hasGoneOn(tid int, s *observe.RawSample) bool {
	if s.How != observe.ByStop {
		return RunsOf(e.pid, tid) != s.Sched.Runs
	}
	f := procmem.OpenThread(e.pid, tid, nil)
	defer f.Close()
	call, err := f.Syscall()
	for ; err == nil && call.Running && e.wakeWaits < maxWakeWaits; e.wakeWaits++ {
		time.Sleep(time.Millisecond)
		call, err = f.Syscall()
	}
	return err != nil || call.Running || call.Args != s.Call.Args
}

type coreThreads map[int]bool

// Thread implements [waits.ThreadFinder].
func (c coreThreads) Thread(innerTID int, _ bool) (int, bool) { return innerTID, c[innerTID] }

// Parent implements [waits.ThreadFinder]: a core has one process.
func (c coreThreads) Parent(int) int { return 0 }

// NewCore returns the explainer of a core's threads.
func NewCore(c *core.Core, names *symbols.Namer) *Explainer {
	threads := coreThreads{}
	for _, th := range c.Threads() {
		threads[th.TID] = true
	}
	return &Explainer{
		pid: c.PID, names: names, space: c.Space, Owners: threads, Read: c.Read,
		Sleepers: map[int]*waits.Sleeper{}, idleness: map[idleKey]waits.Idleness{},
		managed: managedWaitsOf(c.Runtimes(), func(q *managed.WaitQuery, tid int, _ uint64) {
			// The kernel's cores have the IDs of the pid namespace, gdb's those that gdb sees.
			q.Live, q.InnerTID, q.Still = callstack.CoreMemory(c.Read), tid, true
		}),
	}
}

// ExplainCore sets what a thread waited for. It skips arm64, where a call's result replaces its first argument.
func (e *Explainer) ExplainCore(d *stacks.Thread, c *core.Core, th *core.Thread) {
	if th.Syscall < 0 || c.Arch != frames.X86_64 {
		return
	}
	sl := &waits.Sleeper{Reason: d.Wait, InCall: true}
	for i, reg := range observe.ArgumentRegisters(c.Arch) {
		v, ok := th.Regs.Get(reg)
		if !ok {
			return
		}
		sl.Args[i] = v
	}
	sl.Managed = e.managedAsker(th.TID, sl, 0, c.Memory())
	if addr, ok := waits.FutexWord(&sl.Args); ok && d.Wait == "futex" && addr >= waits.CopyBefore {
		var b [waits.CopySize]byte
		from := addr - waits.CopyBefore
		if n := e.Read(from, b[:]); n > 0 {
			sl.Memory = waits.FutexCopy{Addr: from, Bytes: b[:n]}
		} else if n := e.Read(addr, b[:]); n > 0 { // first in its mapping
			sl.Memory = waits.FutexCopy{Addr: addr, Bytes: b[:n]}
		}
	}
	e.describe(d, sl)
}

// managedWaits asks the runtimes about the wait of a thread at run count runs. later means that a retry may explain it.
type managedWaits func(tid int, q managed.WaitQuery, runs uint64) (w waits.Wait, ok, later bool)

// managedWaitsOf returns nil without runtimes. complete sets a query's Live, InnerTID and Still.
func managedWaitsOf(r *loadedcode.Runtimes, complete func(q *managed.WaitQuery, tid int, runs uint64)) managedWaits {
	if len(r.FrameSources()) == 0 {
		return nil
	}
	return func(tid int, q managed.WaitQuery, runs uint64) (w waits.Wait, ok, later bool) {
		complete(&q, tid, runs)
		return callstack.WaitOf(r.FrameSources(), &q)
	}
}

// managedAsker returns [waits.Sleeper].Managed. Only its first call requires run count runs: a monitor's waiters wake
// now and then.
func (e *Explainer) managedAsker(tid int, sl *waits.Sleeper, runs uint64, mem frames.Memory) func() (waits.Wait, bool) {
	word, timed, ok := waits.RuntimeWaitCall(sl.Reason, &sl.Args)
	if e.managed == nil || !sl.InCall || !ok {
		return nil
	}
	first := true
	q := managed.WaitQuery{Word: word, Mem: mem, Timed: timed}
	return func() (waits.Wait, bool) {
		if !first && runs != 0 {
			runs, q.Mem = RunsOf(e.pid, tid), nil
		}
		first = false
		w, ok, later := e.managed(tid, q, runs)
		e.Retryable = later
		return w, ok
	}
}

// RunsOf returns a thread's run count, 0 if it has ended.
func RunsOf(pid, tid int) uint64 {
	f := procmem.OpenThread(pid, tid, nil)
	defer f.Close()
	sched, err := f.SchedStat()
	if err != nil {
		return 0
	}
	return sched.Runs
}
