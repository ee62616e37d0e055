// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// procOpens opens files of /proc/PID by path, at real-time priority on another, ordinary thread ([procmem.PathOpener]).
// What takes longer than openFor is used at the next tick. Files in a held /proc/PID/task need no opener
// ([procOpens.takeOrMake]).
type procOpens struct {
	files  *procmem.FDBudget
	stops  *stops
	opener *procmem.PathOpener // nil: the tracer opens files itself
	job    *procmem.Job        // the last one, or nil
	owner  *target.Process     // of opened
	opened []openedThread      // opened, not tracked yet
	taken  int                 // passed by takeOrMake
}

const (
	// openFor bounds a tick's wait, openStep is a sleep in it, startStep one in other waits; in ns.
	openFor   = 1e6
	openStep  = 30e3
	startStep = 500e3
)

type openedThread struct {
	tid    int
	thread *observe.Thread
}

func (o *openedThread) close() {
	if o.thread != nil {
		o.thread.Close()
		o.thread = nil
	}
}

func (opens *procOpens) open() { opens.opener = procmem.NewPathOpener() }

func (opens *procOpens) byTracer() bool { return opens.opener == nil }

func (opens *procOpens) busy() bool {
	return opens.job != nil && !opens.job.Done()
}

// run returns false if f continues. Preconditions: the last f has ended; f uses nothing that the tracer's thread or the
// end of a stop uses.
func (opens *procOpens) run(f func()) (done bool) {
	if opens.byTracer() {
		f()
		return true
	}
	opens.job = opens.opener.Start(f)
	for until := procmem.Now() + openFor; opens.busy() && procmem.Now() < until; {
		opens.stops.pause(procmem.Now() + openStep)
	}
	return !opens.busy()
}

func (opens *procOpens) wait() {
	for opens.busy() {
		opens.stops.pause(procmem.Now() + startStep)
	}
}

// openUntracked returns false, never with wait, if the opening continues, until [procOpens.hasOpened].
func (opens *procOpens) openUntracked(p *target.Process, tids []int, now int64, wait bool) (done bool) {
	if opens.byTracer() {
		return true
	}
	if wait {
		opens.wait()
	}
	if opens.busy() {
		return false
	}
	if opens.hasOpened(p) {
		return true
	}
	opens.dropOpened()
	opens.owner = p
	for _, tid := range tids {
		if p.Threads.Of(tid) == nil && !p.Threads.Rejects(tid, now) {
			opens.opened = append(opens.opened, openedThread{tid: tid})
		}
	}
	if len(opens.opened) == 0 {
		return true
	}
	done = opens.run(opens.openAll)
	if wait {
		opens.wait()
		return true
	}
	return done
}

// hasOpened reports whether threads of p are opened and not tracked yet.
func (opens *procOpens) hasOpened(p *target.Process) bool {
	return len(opens.opened) > 0 && opens.owner == p && !opens.busy()
}

func (opens *procOpens) openAll() {
	for i := range opens.opened {
		o := &opens.opened[i]
		o.thread = observe.NewThread(opens.owner.Target.PID, o.tid, opens.files)
		_ = o.thread.Files().OpenDir() // if it has ended, its first read fails
	}
}

// Precondition: the last f of run has ended.
func (opens *procOpens) dropOpened() {
	for i := range opens.opened {
		opens.opened[i].close()
	}
	clear(opens.opened)
	opens.opened, opens.taken, opens.owner = opens.opened[:0], 0, nil
}

// Precondition: threads are taken in the order of opened.
func (opens *procOpens) takeOrMake(p *target.Process, tid int) *observe.Thread {
	if opens.hasOpened(p) {
		for i := opens.taken; i < len(opens.opened); i++ {
			if o := &opens.opened[i]; o.tid == tid && o.thread != nil {
				t := o.thread
				o.thread, opens.taken = nil, i+1
				return t
			}
		}
	}
	ptrace.Pin() // an allocation accepts preemption (runtime/runtime1.go, releasem)
	defer ptrace.Unpin()
	t := observe.NewThread(p.Target.PID, tid, opens.files)
	if !opens.byTracer() && p.TaskDir != nil {
		t.Files().OpenDirIn(p.TaskDir)
	}
	return t
}

func (opens *procOpens) close() {
	for opens.busy() {
		procmem.SleepUntil(procmem.Now() + openStep)
	}
	opens.dropOpened()
	if !opens.byTracer() {
		opens.opener.Close()
		opens.opener = nil
	}
}
