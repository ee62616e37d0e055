// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/engine"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// pathWalks opens files of /proc/PID by path, for a tracer with a real-time priority on an ordinary thread
// ([procmem.PathOpener]). What takes longer than walkFor is left to a later tick.
type pathWalks struct {
	*engine.SharedState
	stops  *stops
	opener *procmem.PathOpener // nil if the tracer walks paths itself
	job    *procmem.Job        // the last walk, or nil
	opened []openedThread      // opened, not tracked yet
	taken  int                 // of opened, passed by takeOpened
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

// open makes another thread walk paths.
func (walks *pathWalks) open() { walks.opener = procmem.NewPathOpener() }

// byTracer reports whether the tracer walks paths itself.
func (walks *pathWalks) byTracer() bool { return walks.opener == nil }

func (walks *pathWalks) busy() bool {
	return walks.job != nil && !walks.job.Done()
}

// run calls f, and serves stops for up to walkFor. It returns false if f continues. Preconditions: no walk is running,
// and f uses nothing that the tracer's thread or the end of a stop uses.
func (walks *pathWalks) run(f func()) (done bool) {
	if walks.byTracer() {
		f()
		return true
	}
	walks.job = walks.opener.Start(f)
	for until := procmem.Now() + walkFor; walks.busy() && procmem.Now() < until; {
		walks.stops.pause(procmem.Now() + walkStep)
	}
	return !walks.busy()
}

func (walks *pathWalks) wait() {
	for walks.busy() {
		walks.stops.pause(procmem.Now() + startStep)
	}
}

// openUntracked opens the untracked threads among tids. It returns false, never with wait, if that continues.
func (walks *pathWalks) openUntracked(p *process, tids []int, now int64, wait bool) (done bool) {
	if walks.byTracer() {
		return true
	}
	if wait {
		walks.wait()
	}
	if walks.busy() {
		return false
	}
	walks.dropOpened()
	for _, tid := range tids {
		if p.list.thread(tid) == nil && !p.list.rejects(tid, now) {
			walks.opened = append(walks.opened, openedThread{proc: p, tid: tid})
		}
	}
	if len(walks.opened) == 0 {
		return true
	}
	done = walks.run(walks.openAll)
	if wait {
		walks.wait()
		return true
	}
	return done
}

func (walks *pathWalks) openAll() {
	for i := range walks.opened {
		o := &walks.opened[i]
		o.thread = observe.NewThread(o.proc.Target.PID, o.tid, walks.Files)
		_ = o.thread.Files().OpenDir() // if it has ended, its first read fails
	}
}

// dropOpened closes the threads that were not taken. Precondition: no walk is running.
func (walks *pathWalks) dropOpened() {
	for i := range walks.opened {
		walks.opened[i].close()
	}
	clear(walks.opened)
	walks.opened, walks.taken = walks.opened[:0], 0
}

// Precondition: threads are taken in the order of opened.
func (walks *pathWalks) takeOpened(p *process, tid int) *observe.Thread {
	for ; !walks.busy() && walks.taken < len(walks.opened); walks.taken++ {
		if o := &walks.opened[walks.taken]; o.proc == p && o.tid == tid && o.thread != nil {
			t := o.thread
			o.thread = nil
			return t
		}
	}
	ptrace.Pin() // an allocation accepts preemption (runtime/runtime1.go, releasem)
	defer ptrace.Unpin()
	t := observe.NewThread(p.Target.PID, tid, walks.Files)
	if !walks.byTracer() && p.TaskDir != nil {
		t.Files().OpenDirIn(p.TaskDir)
	}
	return t
}

func (walks *pathWalks) close() {
	for walks.busy() {
		procmem.SleepUntil(procmem.Now() + walkStep)
	}
	walks.dropOpened()
	if !walks.byTracer() {
		walks.opener.Close()
		walks.opener = nil
	}
}
