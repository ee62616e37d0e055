// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// pathWalks opens files of /proc/PID by path. For a tracer with a real-time priority an ordinary thread does it: the
// kernel may repeat the lookup of an ending process for as long as a real-time thread keeps the CPU
// ([procmem.PathOpener]). What takes longer than walkFor is left to a later tick.
type pathWalks struct {
	*state
	stops   *stops
	walker  *procmem.PathOpener // nil if the tracer walks paths itself
	running *procmem.Job        // under way, or just ended
	opened  []openedThread      // opened, not tracked yet
	taken   int                 // number of opened threads that takeOpened has passed
}

const (
	// walkFor bounds a tick's wait for a walk, walkStep a sleep in it; startStep is a sleep in other waits; all in ns.
	walkFor   = 1e6
	walkStep  = 30e3
	startStep = 500e3
)

type openedThread struct {
	proc   *process
	tid    int
	thread *observe.Thread
}

func (o *openedThread) close() {
	if o.thread != nil {
		o.thread.Close()
		o.thread = nil
	}
}

func (w *pathWalks) busy() bool {
	if w.running != nil && w.running.Done() {
		w.running = nil
	}
	return w.running != nil
}

// run calls f, and serves stops for up to walkFor. It returns false if f continues. Preconditions: no walk is running,
// and f uses nothing that the tracer's thread or the end of a stop uses.
func (w *pathWalks) run(f func()) (done bool) {
	if w.walker == nil {
		f()
		return true
	}
	w.running = w.walker.Start(f)
	for until := procmem.Now() + walkFor; w.busy() && procmem.Now() < until; {
		w.stops.pause(procmem.Now() + walkStep)
	}
	return !w.busy()
}

func (w *pathWalks) wait() {
	for w.busy() {
		w.stops.pause(procmem.Now() + startStep)
	}
}

// openUntracked opens the untracked threads among tids. It returns false if that continues, never with wait.
func (w *pathWalks) openUntracked(p *process, tids []int, now int64, wait bool) (done bool) {
	if w.walker == nil {
		return true
	}
	if wait {
		w.wait()
	}
	if w.busy() {
		return false
	}
	w.dropOpened()
	for _, tid := range tids {
		if p.list.byTID[tid] == nil && now >= p.list.rejected[tid].again {
			w.opened = append(w.opened, openedThread{proc: p, tid: tid})
		}
	}
	if len(w.opened) == 0 {
		return true
	}
	done = w.run(w.openAll)
	if wait {
		w.wait()
		return true
	}
	return done
}

func (w *pathWalks) openAll() {
	for i := range w.opened {
		o := &w.opened[i]
		o.thread = observe.NewThread(o.proc.Target.PID, o.tid, w.Files)
		_ = o.thread.Files().Hold() // if it has ended, its first read fails
	}
}

// dropOpened closes the threads that were not taken. Precondition: no walk is running.
func (w *pathWalks) dropOpened() {
	for i := range w.opened {
		w.opened[i].close()
	}
	clear(w.opened)
	w.opened, w.taken = w.opened[:0], 0
}

// takeOpened returns a thread with its files. Precondition: threads are taken in the order of opened.
func (w *pathWalks) takeOpened(p *process, tid int) *observe.Thread {
	for ; !w.busy() && w.taken < len(w.opened); w.taken++ {
		if o := &w.opened[w.taken]; o.proc == p && o.tid == tid && o.thread != nil {
			t := o.thread
			o.thread = nil
			return t
		}
	}
	ptrace.Pin() // an allocation accepts preemption (runtime/runtime1.go, releasem)
	defer ptrace.Unpin()
	t := observe.NewThread(p.Target.PID, tid, w.Files)
	if w.walker != nil && p.TaskDir != nil {
		t.Files().HoldIn(p.TaskDir)
	}
	return t
}

func (w *pathWalks) close() {
	for w.busy() {
		procmem.SleepUntil(procmem.Now() + walkStep)
	}
	w.dropOpened()
	if w.walker != nil {
		w.walker.Close()
		w.walker = nil
	}
}
