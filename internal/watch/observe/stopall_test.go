// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"testing"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

func TestThreadThatDoesNotStopInTimeIsReportedWithoutARawSample(t *testing.T) {
	for name, afterWait := range map[string]bool{"while its stop is requested": false, "after the last wait": true} {
		pid, _ := testtargets.Threads(t, "vforks") // the thread stays attached until the tracer's has ended
		th := NewThread(pid, pid, nil)
		testtargets.Eventually(t, "its child holds it in vfork", func() bool {
			var s procmem.Stat
			return procmem.ReadStat(pid, &s) == nil && s.State == 'D'
		})
		pool := NewPool(4)
		procmem.OnOSThread(func() {
			ctl := ptrace.NewController(ptrace.Options{})
			defer ctl.Close()
			calls := 0
			s := newStopAll(ctl, pool, func(_ *Thread, raw *RawSample, err error) {
				calls++
				if raw != nil || !errors.Is(err, ptrace.ErrTimeout) {
					t.Errorf("%s: raw sample %v, error %v, want none and a time-out", name, raw != nil, err)
				}
			})
			h := &member{thread: th}
			s.threads = append(s.threads, h)
			s.requestStop(h, 1)
			if h.state != memberPending {
				t.Errorf("%s: state %d of a vfork parent, want pending", name, h.state)
				return
			}
			s.waitUntil = 0
			if afterWait {
				s.wait()
			}
			s.finishAll()
			if calls != 1 || pool.BytesInUse() != 0 {
				t.Errorf("%s: %d reports, want 1; %d bytes in use, want 0", name, calls, pool.BytesInUse())
			}
		})
		th.Close()
	}
}

func TestNoFilesOfANewProgramAreOpenedWhileAllAreStopped(t *testing.T) {
	th, in := runsAfterALine(t)
	execs(t, th, in)
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		s := newStopAll(ctl, NewPool(1), func(*Thread, *RawSample, error) {})
		defer s.detachAll()
		h := &member{thread: th, call: procmem.SyscallInfo{Running: true, Nr: -1}}
		s.threads = append(s.threads, h)
		s.requestStop(h, 1)
		if s.wait(); h.state != memberStopped {
			t.Errorf("state %d of a computing thread, want stopped", h.state)
			return
		}
		before := th.Memory.Space()
		if s.copyStack(h); th.Memory.Space() != before || h.stackCopied {
			t.Error("the memory of the new program was opened while the thread was stopped")
		}
	})
}

func TestThreadThatCallsExecBeforeItsStopIsObservedAgain(t *testing.T) {
	th, in := runsAfterALine(t)
	pool := NewPool(2)
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		calls := 0
		s := newStopAll(ctl, pool, nil)
		defer s.detachAll()
		s.done = func(_ *Thread, raw *RawSample, err error) {
			if calls++; err != nil || len(raw.Mem.Stack.Bytes) == 0 {
				t.Errorf("%v, raw sample %v; want a stack of the new program", err, raw != nil)
			}
		}
		s.observeTwiceIfExeced(func() []*Thread {
			if len(s.threads) > 0 {
				return nil
			}
			execs(t, th, in)
			s.threads = append(s.threads, &member{thread: th, call: procmem.SyscallInfo{Running: true, Nr: -1}})
			s.requestStop(s.threads[0], 1) // an exec after add's check
			s.wait()
			return nil
		})
		if calls != 1 {
			t.Errorf("%d reports, want 1", calls)
		}
	})
}

func TestStopAllCopiesTheStackOfTheProgramSinceAnExec(t *testing.T) {
	th, in := runsAfterALine(t)
	execs(t, th, in)
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		found := []*Thread{th}
		more := func() []*Thread {
			next := found
			found = nil
			return next
		}
		StopAll(ctl, NewPool(1), more, func(_ *Thread, raw *RawSample, err error) {
			if err != nil || len(raw.Mem.Stack.Bytes) == 0 || raw.How != ByStop {
				t.Errorf("%v, raw sample %v; want a stack of the new program, by a stop", err, raw != nil)
			}
		})
	})
}
