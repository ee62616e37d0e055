// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

const (
	stopAllTimeout = time.Second // for all stops, and once more after an exec
	stopAllRounds  = 16          // of passive reads
)

// StopAll observes all threads at one moment: it stops and copies all, then detaches. more returns the threads
// discovered since its last call. Threads in calls that a stop would harm ([Interruptible]), or that do not stop within
// a second, are read passively, in at most 16 rounds, of which the last may begin after that second; one found running
// is asked to stop again. The only thread of a process that has called exec meanwhile is observed once more. done is
// called once for each thread.
// StopAll returns the time from the first stop to the last detach.
//
// Precondition: it runs on the controller's OS thread, and the controller has room for all threads.
func StopAll(
	ctl *ptrace.Controller, pool *Pool, more func() []*Thread, done func(*Thread, *RawSample, error),
) time.Duration {
	s := newStopAll(ctl, pool, done)
	defer s.detachAll()      // also after a panic
	ctl.AcknowledgeSuspend() // a stop signal to this process can wait
	s.observeTwiceIfExeced(more)
	return max(s.lastDetach.Sub(s.firstStop), 0)
}

func (s *stopAll) observeTwiceIfExeced(more func() []*Thread) {
	s.observe(more)
	if again := s.execed; len(again) > 0 {
		s.isRepetition, s.waitUntil = true, ptrace.Now().Add(stopAllTimeout)
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
	for round := 0; round < stopAllRounds && s.readAllPassively() && ptrace.Now() < s.waitUntil; round++ {
		s.wait()
	}
	s.finishAll()
}

func newStopAll(ctl *ptrace.Controller, pool *Pool, done func(*Thread, *RawSample, error)) *stopAll {
	return &stopAll{ctl: ctl, passive: New(ctl, pool, ModePassiveOnly), done: done,
		waitUntil: ptrace.Now().Add(stopAllTimeout)}
}

type stopAll struct {
	ctl                   *ptrace.Controller
	passive               *Observer
	done                  func(*Thread, *RawSample, error)
	threads               []*member
	execed                []*Thread // stopped after an exec: without a stack
	isRepetition          bool      // of execed
	pending               int
	waitUntil             ptrace.Moment
	firstStop, lastDetach ptrace.Moment
	req                   ptrace.Request
	stop                  ptrace.Stop
}

type memberState uint8

const (
	memberUnstopped memberState = iota // to be read passively: asleep, or it did not stop in time
	memberPending
	memberStopped
	memberDone // done was called, or is about to be
)

type member struct {
	thread      *Thread
	state       memberState
	attachment  *ptrace.Attachment
	raw         *RawSample
	stackCopied bool                // before finish
	call        procmem.SyscallInfo // as read before the stop
}

func (s *stopAll) add(t *Thread) {
	m := &member{thread: t}
	s.passive.takeHints(t)
	s.threads = append(s.threads, m)
	t.reopenAfterExec(0) // not while the thread is stopped
	_, err := t.readClocks()
	if err == nil {
		m.call, err = t.files.Syscall()
	}
	if err != nil {
		s.end(m, nil, err)
		return
	}
	if m.call.Running || Interruptible(t.ID, &m.call, nil) {
		s.requestStop(m, len(s.threads))
	}
}

// Precondition: m.call was read after the thread's last clocks.
func (s *stopAll) requestStop(m *member, tag int) {
	s.setRaw(m, s.passive.pool.Get())
	m.raw.buffers.reserveStack(m.thread.hints.stack.size.bytes)
	attachment, err := s.ctl.BeginWithClocks(m.thread.files, &m.thread.clocks)
	if err != nil {
		s.end(m, nil, err)
		return
	}
	if call := &m.call; !call.Running {
		attachment.SetSleeping(call, m.thread.clocks.Runs)
	}
	attachment.Tag = uint64(tag)
	m.attachment = attachment
	m.state = memberPending
	s.pending++
}

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
		s.threads[attachment.Tag-1].state = memberStopped
		s.pending--
	}
	for _, m := range s.threads {
		if m.state == memberPending {
			s.ctl.Cancel(m.attachment)
			s.setRaw(m, nil)
			m.state = memberUnstopped
			s.pending--
		}
	}
}

// readAllPassively reports whether another round can find more: a thread ran, or was read.
func (s *stopAll) readAllPassively() (changed bool) {
	for i, m := range s.threads {
		if m.state != memberUnstopped {
			continue
		}
		outcome, raw, err := s.passive.Begin(m.thread)
		switch {
		case errors.Is(err, errs.Running) && ptrace.Now() < s.waitUntil:
			m.call = procmem.SyscallInfo{Running: true, Nr: -1}
			s.requestStop(m, i+1)
			changed = true
		case errors.Is(err, errs.Running):
			s.end(m, nil, ptrace.ErrTimeout)
		case err != nil:
			s.end(m, nil, err)
		case outcome == Done:
			s.setRaw(m, raw)
			changed = true
		}
	}
	return changed
}

func (s *stopAll) setRaw(m *member, raw *RawSample) {
	s.passive.pool.Put(m.raw)
	m.raw = raw
}

// finishAll copies all stacks before the first detach.
func (s *stopAll) finishAll() {
	for _, m := range s.threads {
		if m.state == memberStopped {
			s.copyStack(m)
		}
	}
	for _, m := range s.threads {
		s.finish(m)
	}
}

func (s *stopAll) copyStack(m *member) {
	call, err := m.thread.files.Syscall()
	if err != nil || call.Running || call.SP == 0 {
		return
	}
	m.stackCopied = m.raw.copyStack(m.thread, call.SP, redZone) == nil && len(m.raw.Mem.Stack.Bytes) > 0
}

func (s *stopAll) finish(m *member) {
	switch m.state {
	case memberPending: // its time ended while it was asked to stop
		s.ctl.Cancel(m.attachment)
		s.end(m, nil, ptrace.ErrTimeout)
	case memberUnstopped:
		if m.raw == nil {
			s.end(m, nil, ptrace.ErrTimeout)
		} else {
			s.end(m, m.raw, nil)
		}
	case memberStopped:
		s.req = ptrace.Request{Stack: m.raw.buffers.stack, Memory: m.thread.Memory, Files: m.thread.files,
			OtherMemory: s.passive.copier.otherMemory(m.thread, false),
			Regions:     s.passive.copier.regions[:]}
		if m.stackCopied {
			s.req.Stack = nil
		}
		m.state = memberDone
		if err := s.ctl.Finish(m.attachment, &s.req, &s.stop); err != nil {
			s.end(m, nil, err)
			return
		}
		s.fillFromStop(m)
		if !s.isRepetition && m.thread.reopenAfterExec(len(m.raw.Mem.Stack.Bytes)) {
			s.setRaw(m, nil)
			s.execed = append(s.execed, m.thread)
			return
		}
		s.end(m, m.raw, nil)
	}
}

func (s *stopAll) fillFromStop(m *member) {
	raw, stop := m.raw, &s.stop
	if s.firstStop == 0 || stop.Times.LastRunningAt < s.firstStop {
		s.firstStop = stop.Times.LastRunningAt
	}
	s.lastDetach = max(s.lastDetach, stop.Times.DetachedAt)
	raw.Regs = stop.Regs
	raw.Sched = stop.Sched
	raw.At = stop.Times.StoppedAt
	raw.How = ByStop
	if !m.stackCopied {
		raw.setStack(stop.Copy.StackAddr, stop.Copy.StackLen, stop.Copy.StackAsked)
	}
	raw.keepOthers(s.passive.copier.regions[:stop.Regions])
	raw.Stop.StopTime = stop.Times.DetachedAt.Sub(stop.Times.LastRunningAt)
	raw.Stop.Effect = CallEffect{stop.Repair, stop.Nr}
	raw.Call, raw.State = m.call, sample.Sleeping
	switch {
	case stop.Kind == ptrace.KindGroup:
		raw.State = sample.Stopped
	case m.call.Running:
		raw.State = sample.Running
	}
}

func (s *stopAll) end(m *member, raw *RawSample, err error) {
	m.state = memberDone
	if raw == nil {
		s.setRaw(m, nil)
	}
	s.done(m.thread, raw, err)
}

func (s *stopAll) detachAll() {
	for _, m := range s.threads {
		if m.state == memberPending || m.state == memberStopped {
			m.state = memberDone
			s.ctl.Cancel(m.attachment)
		}
	}
}
