// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// procOpens opens files of /proc/PID by path, at real-time priority on another, ordinary thread ([procmem.PathOpener]).
// What takes longer than openFor is left to a later tick.
type procOpens struct {
	files  *procmem.FDBudget
	stops  *stops
	opener *procmem.PathOpener // nil: the tracer opens files itself
	job    *procmem.Job        // the last one, or nil
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

// openUntracked returns false, never with wait, if the opening continues; the caller retries at a later tick.
func (opens *procOpens) openUntracked(p *process, tids []int, now int64, wait bool) (done bool) {
	if opens.byTracer() {
		return true
	}
	if wait {
		opens.wait()
	}
	if opens.busy() {
		return false
	}
	opens.dropOpened()
	for _, tid := range tids {
		if p.list.thread(tid) == nil && !p.list.rejects(tid, now) {
			opens.opened = append(opens.opened, openedThread{proc: p, tid: tid})
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

func (opens *procOpens) openAll() {
	for i := range opens.opened {
		o := &opens.opened[i]
		o.thread = observe.NewThread(o.proc.Target.PID, o.tid, opens.files)
		_ = o.thread.Files().OpenDir() // if it has ended, its first read fails
	}
}

// Precondition: the last f of run has ended.
func (opens *procOpens) dropOpened() {
	for i := range opens.opened {
		opens.opened[i].close()
	}
	clear(opens.opened)
	opens.opened, opens.taken = opens.opened[:0], 0
}

// Precondition: threads are taken in the order of opened.
func (opens *procOpens) takeOrMake(p *process, tid int) *observe.Thread {
	for ; !opens.busy() && opens.taken < len(opens.opened); opens.taken++ {
		if o := &opens.opened[opens.taken]; o.proc == p && o.tid == tid && o.thread != nil {
			t := o.thread
			o.thread = nil
			return t
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
