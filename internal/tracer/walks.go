// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// # Paths of /proc
//
// A tracer with a real-time priority walks no path of /proc/PID: the kernel may repeat the lookup of a process that
// ends without an end ([procmem.Walker]). An ordinary thread does. The tracer serves stops meanwhile, for a short
// time. What is not done by then is found done at a later tick: on a busy machine an ordinary thread may wait long for
// a processor, and ticks do not wait for it. One walk is under way at a time.
//
// Threads are opened many at a time, with their directories held, so that their files need no path. A thread that was
// born since the last list is opened at once, as it may live for a moment only: by its number, in the list of threads
// that is open. Such a lookup may repeat, too, if the thread ends just then; the watchdog of package ptrace ends that.

const (
	// walkFor is how long a tick waits for a walk, in nanoseconds, and walkStep is how long it sleeps at a time.
	walkFor  = 1e6
	walkStep = 30e3
)

// walks is what an ordinary thread opens for the tracer. It belongs to the tracer.
type walks struct {
	walker *procmem.Walker // nil: the tracer has no real-time priority, and walks paths itself
	under  *procmem.Walk   // the one that is under way, or has ended since the last call of away; nil: none
	ahead  []openedThread  // threads that were opened and are not met yet
	passed int             // how many of these were passed
}

// openedThread is a thread whose files were opened before the tracer takes it on.
type openedThread struct {
	proc *process
	tid  int
	look *look.Thread
}

// close closes a thread that was not met.
func (o *openedThread) close() {
	if o.look != nil {
		o.look.Close()
		o.look = nil
	}
}

// away reports whether a walk is under way. What it writes is not to be read meanwhile.
func (w *walks) away() bool {
	if w.under != nil && w.under.Done() {
		w.under = nil
	}
	return w.under != nil
}

// elsewhere calls f on an ordinary thread if the tracer has a real-time priority, and serves stops until f returns, or
// for walkFor; false if f goes on. Else it calls f itself. Preconditions: no walk is under way. f reads and writes
// nothing that a stop's end does, and calls nothing that belongs to the tracer's thread.
func (c *Tracer) elsewhere(f func()) (done bool) {
	w := &c.walks
	if w.walker == nil {
		f()
		return true
	}
	w.under = w.walker.Start(f)
	for until := procmem.Now() + walkFor; w.away() && procmem.Now() < until; {
		c.breathe(procmem.Now() + walkStep)
	}
	return !w.away()
}

// walked waits for the walk that is under way.
func (c *Tracer) walked() {
	for c.walks.away() {
		c.breathe(procmem.Now() + walkStep)
	}
}

// openAhead opens, on an ordinary thread, those of some threads of a process that are not known, if paths are to be
// walked there; false if they are not open yet. wait: it waits until they are.
func (c *Tracer) openAhead(p *process, tids []int, now int64, wait bool) (done bool) {
	w := &c.walks
	if w.walker == nil {
		return true
	}
	if wait {
		c.walked()
	}
	if w.away() {
		return false
	}
	w.dropAhead()
	for _, tid := range tids {
		if p.list.byTID[tid] == nil && now >= p.list.unwanted[tid].again {
			w.ahead = append(w.ahead, openedThread{proc: p, tid: tid})
		}
	}
	if len(w.ahead) == 0 {
		return true
	}
	done = c.elsewhere(func() { w.openAll(c.files) })
	if wait {
		c.walked()
		return true
	}
	return done
}

// openAll opens the threads that are to be met.
func (w *walks) openAll(budget *procmem.Budget) {
	for i := range w.ahead {
		o := &w.ahead[i]
		o.look = look.NewThread(o.proc.target.PID, o.tid, budget)
		_ = o.look.Files().Hold() // it has ended, else, which its first read finds
	}
}

// dropAhead closes the threads that were opened and not met. Precondition: no walk is under way.
func (w *walks) dropAhead() {
	for i := range w.ahead {
		w.ahead[i].close()
	}
	clear(w.ahead) // their processes are not kept
	w.ahead, w.passed = w.ahead[:0], 0
}

// open gives a thread with its files. Those that were opened ahead come in the order in which they were opened.
func (c *Tracer) open(p *process, tid int) *look.Thread {
	for w := &c.walks; !w.away() && w.passed < len(w.ahead); w.passed++ {
		if o := &w.ahead[w.passed]; o.proc == p && o.tid == tid && o.look != nil {
			t := o.look
			o.look = nil
			return t
		}
	}
	ptrace.Pin() // an allocation, too, takes up a request to make room that was let pass (runtime/runtime1.go, releasem)
	defer ptrace.Unpin()
	t := look.NewThread(p.target.PID, tid, c.files)
	if c.walks.walker != nil && p.list.tasks != nil {
		t.Files().HoldIn(p.list.tasks)
	}
	return t
}

// endWalks ends what the ordinary thread does.
func (c *Tracer) endWalks() {
	w := &c.walks
	for w.away() {
		procmem.SleepUntil(procmem.Now() + walkStep)
	}
	w.dropAhead()
	if w.walker != nil {
		w.walker.Close()
		w.walker = nil
	}
}
