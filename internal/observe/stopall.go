// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"

	"prywalk/internal/observe/copysize"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

const (
	stopAllTimeout = 1e9 // for all stops, and once more for those after an exec, ns
	stopAllRounds  = 16  // of passive reads
)

// StopAll observes all threads at one moment: it stops and copies all, then detaches. more returns the threads
// discovered since its last call. Threads in calls that a stop would harm ([Interruptible]), or that do not stop within
// a second, are read passively, again while they run, for at most 16 rounds and that second: the last read then holds.
// The only thread of a process that has called exec meanwhile is observed once more, after the others. done is called
// once for each thread. StopAll returns the time from the first stop to the last detach, in ns.
//
// Precondition: it runs on the controller's OS thread, and the controller has room for all threads.
func StopAll(ctl *ptrace.Controller, pool *Pool, more func() []*Thread, done func(*Thread, *RawSample, error)) int64 {
	s := newStopAll(ctl, pool, done)
	defer s.detachAll()      // also after a panic
	ctl.AcknowledgeSuspend() // a stop signal to this process can wait
	s.observeTwiceIfExeced(more)
	return max(s.lastDetach-s.firstStop, 0)
}

func (s *stopAll) observeTwiceIfExeced(more func() []*Thread) {
	s.observe(more)
	if again := s.execed; len(again) > 0 {
		s.isRepetition, s.waitUntil = true, procmem.Now()+stopAllTimeout
		s.observe(func() []*Thread { ts := again; again = nil; return ts })
	}
}

func (s *stopAll) observe(more func() []*Thread) {
	for ts := more(); len(ts) > 0; ts = more() {
		for _, t := range ts {
			s.add(t)
		}
		s.wait()
	}
	for round := 0; round < stopAllRounds && s.readAllPassively() && procmem.Now() < s.waitUntil; round++ {
		s.wait()
	}
	s.finishAll()
}

func newStopAll(ctl *ptrace.Controller, pool *Pool, done func(*Thread, *RawSample, error)) *stopAll {
	return &stopAll{ctl: ctl, passive: New(ctl, pool, ModePassiveOnly), done: done,
		waitUntil: procmem.Now() + stopAllTimeout}
}

type stopAll struct {
	ctl                   *ptrace.Controller
	passive               *Observer
	done                  func(*Thread, *RawSample, error)
	threads               []*heldThread
	execed                []*Thread // were stopped after an exec that came after add: without a stack
	isRepetition          bool      // of execed
	pending               int
	waitUntil             int64
	firstStop, lastDetach int64
	req                   ptrace.Request
	stop                  ptrace.Stop
}

type heldState uint8

const (
	heldAsleep  heldState = iota // to be read passively
	heldPending                  // its stop is requested
	heldStopped
	heldDone // done was called, or is about to be
)

type heldThread struct {
	thread      *Thread
	state       heldState
	attachment  *ptrace.Attachment
	raw         *RawSample
	stackCopied bool                // before finish
	call        procmem.SyscallInfo // as read before the stop
}

// add requests a stop of a thread, unless a stop would harm its call.
func (s *stopAll) add(t *Thread) {
	h := &heldThread{thread: t}
	s.passive.takeHints(t)
	s.threads = append(s.threads, h)
	t.reopenAfterExec(0) // not while the thread is stopped
	_, err := t.readClocks()
	if err == nil {
		h.call, err = t.files.Syscall()
	}
	if err != nil {
		s.end(h, nil, err)
		return
	}
	if h.call.Running || Interruptible(t.ThreadID, &h.call) {
		s.requestStop(h, len(s.threads))
	}
}

// requestStop requests the stop of a thread. Precondition: h.call was read after the thread's last clocks.
func (s *stopAll) requestStop(h *heldThread, tag int) {
	s.setRaw(h, s.passive.pool.Get())
	h.raw.buffers.reserveStack(h.thread.hints().Bytes)
	attachment, err := s.ctl.BeginWithClocks(h.thread.files, &h.thread.clocks.last)
	if err != nil {
		s.end(h, nil, err)
		return
	}
	if call := &h.call; !call.Running {
		attachment.SetSleeping(call, h.thread.clocks.last.Runs)
	}
	attachment.Tag = uint64(tag)
	h.attachment = attachment
	h.state = heldPending
	s.pending++
}

// wait waits until the threads have stopped. Those that have not in time are read passively.
func (s *stopAll) wait() {
	for s.pending > 0 {
		attachment := s.ctl.WaitAny(s.waitUntil)
		if attachment == nil {
			break
		}
		if attachment.Tag == 0 || attachment.Tag > uint64(len(s.threads)) {
			s.ctl.Cancel(attachment)
			continue
		}
		s.threads[attachment.Tag-1].state = heldStopped
		s.pending--
	}
	for _, h := range s.threads {
		if h.state == heldPending {
			s.ctl.Cancel(h.attachment)
			s.setRaw(h, nil)
			h.state = heldAsleep
			s.pending--
		}
	}
}

// readAllPassively reads all sleepers that have run since their last read, and requests stops of those that run. It
// reports whether there were any.
func (s *stopAll) readAllPassively() (changed bool) {
	for i, h := range s.threads {
		if h.state != heldAsleep {
			continue
		}
		outcome, raw, err := s.passive.Begin(h.thread)
		switch {
		case errors.Is(err, refusal.Running) && procmem.Now() < s.waitUntil:
			h.call = procmem.SyscallInfo{Running: true, Nr: -1}
			s.requestStop(h, i+1)
			changed = true
		case errors.Is(err, refusal.Running):
			s.end(h, nil, ptrace.ErrTimeout)
		case err != nil:
			s.end(h, nil, err)
		case outcome == Done:
			s.setRaw(h, raw)
			changed = true
		}
	}
	return changed
}

// setRaw gives the thread's former raw sample, if any, back to the pool.
func (s *stopAll) setRaw(h *heldThread, raw *RawSample) {
	s.passive.pool.Put(h.raw)
	h.raw = raw
}

// finishAll copies all stacks while the threads are stopped, then detaches, and calls done for each.
func (s *stopAll) finishAll() {
	for _, h := range s.threads {
		if h.state == heldStopped {
			s.copyStack(h)
		}
	}
	for _, h := range s.threads {
		s.finish(h)
	}
}

// copyStack runs while all are stopped; where it fails, finish copies.
func (s *stopAll) copyStack(h *heldThread) {
	call, err := h.thread.files.Syscall()
	if err != nil || call.Running || call.SP == 0 {
		return
	}
	h.stackCopied = h.raw.copyStack(h.thread, call.SP, copysize.RedZone) == nil && len(h.raw.Mem.Stack.Bytes) > 0
}

func (s *stopAll) finish(h *heldThread) {
	switch h.state {
	case heldPending: // its time ended while it was asked to stop
		s.ctl.Cancel(h.attachment)
		s.end(h, nil, ptrace.ErrTimeout)
	case heldAsleep:
		if h.raw == nil {
			s.end(h, nil, ptrace.ErrTimeout)
		} else {
			s.end(h, h.raw, nil)
		}
	case heldStopped:
		s.req = ptrace.Request{Stack: h.raw.buffers.stack, Memory: h.thread.Memory, Files: h.thread.files,
			OtherMemory: s.passive.copier.memoryWithoutOutline(h.thread, false),
			Regions:     s.passive.copier.regions[:]}
		if h.stackCopied {
			s.req.Stack = nil
		}
		h.state = heldDone
		if err := s.ctl.Finish(h.attachment, &s.req, &s.stop); err != nil {
			s.end(h, nil, err)
			return
		}
		s.fillFromStop(h)
		if !s.isRepetition && h.thread.reopenAfterExec(len(h.raw.Mem.Stack.Bytes)) {
			s.setRaw(h, nil)
			s.execed = append(s.execed, h.thread)
			return
		}
		s.end(h, h.raw, nil)
	}
}

func (s *stopAll) fillFromStop(h *heldThread) {
	raw, stop := h.raw, &s.stop
	if s.firstStop == 0 || stop.LastRunningAt < s.firstStop {
		s.firstStop = stop.LastRunningAt
	}
	s.lastDetach = max(s.lastDetach, stop.DetachedAt)
	raw.Regs = stop.Regs
	raw.Sched = stop.Sched
	raw.At = stop.StoppedAt
	raw.How = ByStop
	if !h.stackCopied {
		raw.setStack(stop.StackAddr, stop.StackLen, stop.StackAsked)
	}
	raw.keepOthers(s.passive.copier.regions[:stop.Regions])
	raw.StopTime = stop.DetachedAt - stop.LastRunningAt
	raw.CallEffect = callEffectOf(stop)
	raw.Call, raw.State = h.call, sample.Sleeping
	switch {
	case stop.Kind == ptrace.KindGroup:
		raw.State = sample.Stopped
	case h.call.Running:
		raw.State = sample.Running
	}
}

func (s *stopAll) end(h *heldThread, raw *RawSample, err error) {
	h.state = heldDone
	if raw == nil {
		s.setRaw(h, nil)
	}
	s.done(h.thread, raw, err)
}

func (s *stopAll) detachAll() {
	for _, h := range s.threads {
		if h.state == heldPending || h.state == heldStopped {
			h.state = heldDone
			s.ctl.Cancel(h.attachment)
		}
	}
}
