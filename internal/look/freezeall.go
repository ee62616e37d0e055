// SPDX-License-Identifier: Apache-2.0

package look

import (
	"errors"

	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

const (
	// freezeAllFor bounds how long the first threads may stay stopped until the
	// last one has stopped, in nanoseconds.
	freezeAllFor = 1e9
	// freezeAllRounds bounds how often those that woke up are looked at again.
	freezeAllRounds = 16
)

// FreezeAll looks at threads at one moment: it stops them all, copies all, and lets them go together. Those that have
// come since it was last called are what more gives: a thread that has not stopped yet can start another. Threads
// that sleep in a call which an interrupt would harm ([interruptible]) are peeked at while all others are stopped.
// That goes on until none of them has run since its peek: then all stacks are those of that moment. A thread that
// does not stop within a second is peeked at too, or fails. Of each thread done is told. The result is the length of
// time, in nanoseconds, between the first stop and the last detach.
//
// Precondition: it runs on the controller's OS thread, and the controller has room
// for all threads.
func FreezeAll(ctl *ptrace.Controller, pool *Pool, more func() []*Thread, done func(*Thread, *Shot, error)) int64 {
	g := &freezeAll{ctl: ctl, peeker: New(ctl, pool, OnlyPeek), done: done, end: procmem.Now() + freezeAllFor}
	defer g.letGo() // also after a panic
	ctl.Leave()     // whoever wants to stop this process can wait for a look of a second
	for ts := more(); len(ts) > 0; ts = more() {
		for _, t := range ts {
			g.add(t)
		}
		g.wait()
	}
	for round := 0; round < freezeAllRounds && g.peekAll() && procmem.Now() < g.end; round++ {
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

// freezeAll is the state of one such look.
type freezeAll struct {
	ctl         *ptrace.Controller
	peeker      *Looker
	done        func(*Thread, *Shot, error)
	all         []*held
	pending     int
	end         int64
	first, last int64 // the first stop and the last detach
	req         ptrace.Request
	stop        ptrace.Stop
}

type heldState uint8

const (
	heldAsleep  heldState = iota // it is to be peeked at
	heldPending                  // it was asked to stop
	heldStopped
	heldOver
)

// held is one thread of them.
type held struct {
	t      *Thread
	state  heldState
	look   *ptrace.Look
	shot   *Shot
	copied bool                // shot has the stack
	call   procmem.SyscallInfo // before it was asked to stop
}

// add begins with a thread.
func (g *freezeAll) add(t *Thread) {
	h := &held{t: t}
	g.peeker.takeNeeds(t)
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
		g.freeze(h, len(g.all), sched.Runs)
	}
}

// freeze asks a thread to stop. runs is its count of arrivals on a processor from
// before h.call was read.
func (g *freezeAll) freeze(h *held, tag int, runs uint64) {
	h.shot = g.peeker.pool.Get()
	h.shot.room(h.t.needs.get().Bytes)
	look, err := g.ctl.Begin(h.t.TID)
	if err != nil {
		g.over(h, nil, err)
		return
	}
	if call := &h.call; !call.Running {
		look.Sleeping(call, runs)
	}
	look.Tag = uint64(tag)
	h.look, h.state = look, heldPending
	g.pending++
}

// wait waits until all that were asked to stop have stopped. Those that do not in
// time are left alone.
func (g *freezeAll) wait() {
	for g.pending > 0 {
		look := g.ctl.WaitAny(g.end)
		if look == nil {
			break
		}
		if look.Tag == 0 || look.Tag > uint64(len(g.all)) {
			g.ctl.Cancel(look)
			continue
		}
		g.all[look.Tag-1].state = heldStopped
		g.pending--
	}
	for _, h := range g.all {
		if h.state == heldPending {
			g.ctl.Cancel(h.look)
			h.state = heldAsleep
			g.pending--
		}
	}
}

// peekAll looks at those that are not stopped, and reports whether any has changed
// since it did so before.
func (g *freezeAll) peekAll() (changed bool) {
	for i, h := range g.all {
		if h.state != heldAsleep {
			continue
		}
		outcome, s, err := g.peeker.Begin(h.t)
		switch {
		case errors.Is(err, refusal.Running) && procmem.Now() < g.end:
			h.call = procmem.SyscallInfo{Running: true, Nr: -1}
			g.freeze(h, i+1, 0)
			changed = true
		case errors.Is(err, refusal.Running):
			g.over(h, nil, ptrace.ErrTimeout)
		case err != nil:
			g.over(h, nil, err)
		case outcome == Done:
			h.shot = s
			changed = true
		}
	}
	return changed
}

// copyStack copies the stack of a stopped thread.
func (g *freezeAll) copyStack(h *held) {
	call, err := h.t.files.Syscall()
	if err != nil || call.Running || call.SP == 0 {
		return // finish does it
	}
	h.copied = h.shot.copyStack(h.t, call.SP, redZone) == nil && len(h.shot.Mem.Stack.Bytes) > 0
}

// finish lets a thread go and passes on what was copied.
func (g *freezeAll) finish(h *held) {
	switch h.state {
	case heldAsleep:
		if h.shot == nil {
			g.over(h, nil, ptrace.ErrTimeout)
		} else {
			g.over(h, h.shot, nil)
		}
	case heldStopped:
		s := h.shot
		g.req = ptrace.Request{Stack: s.buf, Memory: h.t.Memory, Files: h.t.files, Extra: g.peeker.extraOf(h.t),
			Regions: g.peeker.regions[:]}
		if h.copied {
			g.req.Stack = nil
		}
		h.state = heldOver // whatever comes
		if err := g.ctl.Finish(h.look, &g.req, &g.stop); err != nil {
			g.over(h, nil, err)
			return
		}
		g.fill(h)
		g.over(h, s, nil)
	}
}

// fill completes the shot of a thread that was stopped.
func (g *freezeAll) fill(h *held) {
	s, stop := h.shot, &g.stop
	if g.first == 0 || stop.Running < g.first {
		g.first = stop.Running
	}
	g.last = max(g.last, stop.Detach)
	s.Regs, s.Sched, s.At, s.How = stop.Regs, stop.Sched, stop.Stop, ByFreeze
	if !h.copied {
		s.setStack(stop.StackAddr, stop.StackLen, stop.StackAsked)
		s.toTop, s.deep, s.tailAt = false, false, 0
	}
	s.keepRegions(g.peeker.regions[:stop.Regions])
	s.Restarted, s.Stopped, s.wchan = stop.Restarted, stop.Detach-stop.Running, s.wchan[:0]
	s.Left, s.Broken, s.Told = sample.LeftAlone{}, stop.Broken, stop.Told
	s.Call, s.State = h.call, sample.Sleeping
	switch {
	case stop.Kind == ptrace.KindGroup:
		s.State = sample.Stopped
	case h.call.Running:
		s.State = sample.Running
	}
}

// over ends the look at a thread.
func (g *freezeAll) over(h *held, s *Shot, err error) {
	h.state = heldOver
	g.done(h.t, s, err)
}

// letGo lets go of whoever is still held.
func (g *freezeAll) letGo() {
	for _, h := range g.all {
		if h.state == heldPending || h.state == heldStopped {
			h.state = heldOver
			g.ctl.Cancel(h.look)
		}
	}
}
