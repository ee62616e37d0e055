// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"

	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

const (
	// stopAllFor bounds the time from the first stop to the last, in ns.
	stopAllFor = 1e9
	// stopAllRounds bounds the repeated passive reads.
	stopAllRounds = 16
)

// StopAll observes all threads at one moment: it stops them all, copies all, and detaches from all together. more
// gives the threads that were discovered since its last call. Threads in calls that a stop would harm ([interruptible])
// are read passively meanwhile, until none of them has run since; so are threads that do not stop within a second. done
// is called for each thread. StopAll gives the nanoseconds between the first stop and the last detach.
//
// Precondition: it runs on the controller's OS thread, and the controller has room for all threads.
func StopAll(ctl *ptrace.Controller, pool *Pool, more func() []*Thread, done func(*Thread, *RawSample, error)) int64 {
	g := &stopAll{ctl: ctl, peeker: New(ctl, pool, ModePassiveOnly), done: done, end: procmem.Now() + stopAllFor}
	defer g.detachAll() // also after a panic
	ctl.Leave()         // a stop signal to this process can wait
	for ts := more(); len(ts) > 0; ts = more() {
		for _, t := range ts {
			g.add(t)
		}
		g.wait()
	}
	for round := 0; round < stopAllRounds && g.readAllPassively() && procmem.Now() < g.end; round++ {
		g.wait()
	}
	for _, h := range g.all {
		if h.state == heldStopped {
			g.copyStack(h)
		}
	}
	for _, h := range g.all {
		g.finish(h)
	}
	return max(g.last-g.first, 0)
}

type stopAll struct {
	ctl         *ptrace.Controller
	peeker      *Observer
	done        func(*Thread, *RawSample, error)
	all         []*held
	pending     int
	end         int64
	first, last int64
	req         ptrace.Request
	stop        ptrace.Stop
}

type heldState uint8

const (
	heldAsleep heldState = iota
	heldPending
	heldStopped
	heldOver
)

type held struct {
	t      *Thread
	state  heldState
	tracee *ptrace.Tracee
	raw    *RawSample
	copied bool                // the stack was copied before finish
	call   procmem.SyscallInfo // as read before the stop
}

// add adds a thread, and asks it to stop if that is harmless.
func (g *stopAll) add(t *Thread) {
	h := &held{t: t}
	g.peeker.takeHints(t)
	g.all = append(g.all, h)
	sched, err := t.files.SchedStat()
	if err == nil {
		h.call, err = t.files.Syscall()
	}
	if err != nil {
		g.over(h, nil, err)
		return
	}
	if h.call.Running || interruptible(t, &h.call) {
		g.requestStop(h, len(g.all), sched.Runs)
	}
}

// requestStop asks a thread to stop. runs is its run count from before h.call was read.
func (g *stopAll) requestStop(h *held, tag int, runs uint64) {
	h.raw = g.peeker.pool.Get()
	h.raw.room(h.t.hints.get().Bytes)
	tracee, err := g.ctl.Begin(h.t.TID)
	if err != nil {
		g.over(h, nil, err)
		return
	}
	if call := &h.call; !call.Running {
		tracee.Sleeping(call, runs)
	}
	tracee.Tag = uint64(tag)
	h.tracee, h.state = tracee, heldPending
	g.pending++
}

// wait waits for the pending stops. Threads that do not stop in time are later read passively.
func (g *stopAll) wait() {
	for g.pending > 0 {
		tracee := g.ctl.WaitAny(g.end)
		if tracee == nil {
			break
		}
		if tracee.Tag == 0 || tracee.Tag > uint64(len(g.all)) {
			g.ctl.Cancel(tracee)
			continue
		}
		g.all[tracee.Tag-1].state = heldStopped
		g.pending--
	}
	for _, h := range g.all {
		if h.state == heldPending {
			g.ctl.Cancel(h.tracee)
			h.state = heldAsleep
			g.pending--
		}
	}
}

// readAllPassively reads all threads that are not stopped, and reports whether any of them has changed.
func (g *stopAll) readAllPassively() (changed bool) {
	for i, h := range g.all {
		if h.state != heldAsleep {
			continue
		}
		outcome, s, err := g.peeker.Begin(h.t)
		switch {
		case errors.Is(err, refusal.Running) && procmem.Now() < g.end:
			h.call = procmem.SyscallInfo{Running: true, Nr: -1}
			g.requestStop(h, i+1, 0)
			changed = true
		case errors.Is(err, refusal.Running):
			g.over(h, nil, ptrace.ErrTimeout)
		case err != nil:
			g.over(h, nil, err)
		case outcome == Done:
			h.raw = s
			changed = true
		}
	}
	return changed
}

// copyStack copies the stack of a stopped thread, while all are stopped.
func (g *stopAll) copyStack(h *held) {
	call, err := h.t.files.Syscall()
	if err != nil || call.Running || call.SP == 0 {
		return // finish copies the stack
	}
	h.copied = h.raw.copyStack(h.t, call.SP, redZone) == nil && len(h.raw.Mem.Stack.Bytes) > 0
}

func (g *stopAll) finish(h *held) {
	switch h.state {
	case heldAsleep:
		if h.raw == nil {
			g.over(h, nil, ptrace.ErrTimeout)
		} else {
			g.over(h, h.raw, nil)
		}
	case heldStopped:
		s := h.raw
		g.req = ptrace.Request{Stack: s.buf, Memory: h.t.Memory, Files: h.t.files, Extra: g.peeker.extraOf(h.t),
			Regions: g.peeker.regions[:]}
		if h.copied {
			g.req.Stack = nil
		}
		h.state = heldOver
		if err := g.ctl.Finish(h.tracee, &g.req, &g.stop); err != nil {
			g.over(h, nil, err)
			return
		}
		g.fill(h)
		g.over(h, s, nil)
	}
}

func (g *stopAll) fill(h *held) {
	s, stop := h.raw, &g.stop
	if g.first == 0 || stop.Running < g.first {
		g.first = stop.Running
	}
	g.last = max(g.last, stop.Detach)
	s.Regs, s.Sched, s.At, s.How = stop.Regs, stop.Sched, stop.Stop, ByStop
	if !h.copied {
		s.setStack(stop.StackAddr, stop.StackLen, stop.StackAsked)
		s.copyShape = copyShape{}
	}
	s.keepRegions(g.peeker.regions[:stop.Regions])
	s.Restarted, s.Stopped, s.wchan = stop.Restarted, stop.Detach-stop.Running, s.wchan[:0]
	s.NotStopped, s.Broken, s.ReportedTwice = sample.NotStopped{}, stop.Broken, stop.ReportedTwice
	s.Call, s.State = h.call, sample.Sleeping
	switch {
	case stop.Kind == ptrace.KindGroup:
		s.State = sample.Stopped
	case h.call.Running:
		s.State = sample.Running
	}
}

// over ends the observation of a thread.
func (g *stopAll) over(h *held, s *RawSample, err error) {
	h.state = heldOver
	g.done(h.t, s, err)
}

func (g *stopAll) detachAll() {
	for _, h := range g.all {
		if h.state == heldPending || h.state == heldStopped {
			h.state = heldOver
			g.ctl.Cancel(h.tracee)
		}
	}
}
