// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

func withMapChanger(t *testing.T, f func(*Observer, *Thread)) {
	t.Helper()
	exe, err := testtargets.Compile("maps.c", "-O1", "-pthread")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	proc, err := loadedcode.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	th := NewThread(cmd.Process.Pid, cmd.Process.Pid, procmem.NewFDBudget(8))
	defer th.Close()
	th.Memory = proc.Memory()
	observing(NewPool(4), ModeAuto, func(o *Observer) {
		f(o, th)
	})
}

func TestTheLockOfTheMappingsIsAwaitedBeforeAStop(t *testing.T) {
	withMapChanger(t, func(o *Observer, th *Thread) {
		awaited, stopped := observations(t, o, th, func(_, stopped int) bool { return stopped >= 1 })
		if awaited != 0 || stopped == 0 {
			t.Errorf("%d of %d observations have waited for a lock that was not found held before", awaited, stopped)
		}
		th.watchMmapLock(ptrace.CauseLock)
		awaited, stopped = observations(t, o, th, func(awaited, _ int) bool { return awaited > 0 })
		if awaited == 0 {
			t.Errorf("none of %d observations has waited before its stop", stopped)
		}
		t.Logf("%d of %d observations waited before their stops", awaited, stopped)
	})
}

func TestThreadsAreDetachedInTimeIfTheLockOfTheMappingsIsHeld(t *testing.T) {
	withMapChanger(t, func(o *Observer, th *Thread) {
		o.LimitLockWait(true)
		th.watchMmapLock(ptrace.CauseCopy)
		if th.Memory.WatchesMmapLock() {
			t.Error("a copy that was long for its length has the lock watched")
		}
		th.watchMmapLock(ptrace.CauseLock)
		done, failed := 0, 0
		for end := time.Now().Add(testtargets.Patience); (done < 20 || failed == 0) && time.Now().Before(end); {
			switch s, err := oneSample(o, th); {
			case errors.Is(err, errs.MapLock):
				failed++
				procmem.SleepUntil(int64(ptrace.Now().Add(1e5)))
			case err != nil:
				t.Error(err)
			case s != nil:
				if done++; len(s.Mem.Stack.Bytes) == 0 {
					t.Error("an observation without a stack")
				}
				if s.How == ByStop && !th.Memory.UsesSyscallThreads() {
					t.Fatal("the tracer's thread itself has read")
				}
				o.pool.Put(s)
			}
		}
		if done < 20 {
			t.Errorf("%d observations", done)
		}
		t.Logf("%d observations, %d lost to the lock", done, failed)
	})
}

func TestAtOrdinaryPriorityTheLockIsWatchedAfterAWait(t *testing.T) {
	withMapChanger(t, func(o *Observer, th *Thread) {
		o.LimitLockWait(false)
		o.LimitStops(time.Second)
		if o.reads.begin(th, true); th.Memory.UsesSyscallThreads() {
			t.Error("another thread reads before a wait for the lock")
		}
		o.reads.end(th)
		th.watchMmapLock(ptrace.CauseLock)
		if o.reads.begin(th, true); !th.Memory.UsesSyscallThreads() {
			t.Error("after a wait for the lock no other thread reads")
		}
		o.reads.end(th)
	})
}

func TestASleeperIsReadByTheCallingThread(t *testing.T) {
	s := startSleeper(t, "O0", "futex", "plain")
	observing(NewPool(4), ModeAlwaysRead, func(o *Observer) {
		o.LimitLockWait(true)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		o.reads.threads.BlockIdle(int(r.Fd()))
		s.thread.Memory = s.proc.Memory()
		for range 3 {
			outcome, raw, err := o.Begin(s.thread)
			if err != nil || outcome != Done || !s.thread.Memory.WatchesMmapLock() || len(raw.Mem.Stack.Bytes) == 0 {
				t.Errorf("%v, %v; in the first stops the lock is watched: %v", outcome, err, s.thread.Memory.WatchesMmapLock())
			}
			o.pool.Put(raw)
		}
		s.thread.Memory.WatchHeldMmapLock(1)
		if _, raw, err := o.Begin(s.thread); !errors.Is(err, errs.MapLock) {
			o.pool.Put(raw)
			t.Errorf("the lock was waited for lately, and the calling thread has read: %v", err)
		}
	})
}

func TestAThreadIsLetGoWhenItsMemoryIsNotRead(t *testing.T) {
	withMapChanger(t, func(o *Observer, th *Thread) {
		o.LimitLockWait(true)
		th.Memory.WatchHeldMmapLock(1 << 20)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		held := 0
		for end := time.Now().Add(testtargets.Patience); held == 0; {
			if time.Now().After(end) {
				t.Fatal("no stop was requested")
			}
			outcome, s, err := o.Begin(th)
			if o.pool.Put(s); err != nil && !errors.Is(err, errs.MapLock) {
				t.Fatal(err)
			}
			if outcome == Pending && err == nil {
				held = o.reads.threads.BlockIdle(int(r.Fd()))
				err = collected(o)
				lost := th.TakeLostStops()
				if !errors.Is(err, errs.MapLock) || len(lost) != 1 || lost[0].StopTime <= 0 ||
					lost[0].StopCause != ptrace.CauseLock {
					t.Errorf("%v, lost stops: %+v", err, lost)
				}
			}
		}
		var st procmem.Status
		if err := procmem.ReadStatus(th.ID.TID, &st); err != nil || st.TracerPid != 0 || o.Stops.Attached() != 0 {
			t.Errorf("still traced by %d (%v), %d stops pending", st.TracerPid, err, o.Stops.Attached())
		}
		for range 3 {
			if outcome, s, err := o.Begin(th); !errors.Is(err, errs.MapLock) || o.Stops.Attached() != 0 {
				t.Errorf("observation meanwhile: %v, %v, %v", outcome, s, err)
			}
		}
		if _, err := w.Write(make([]byte, held)); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(testtargets.Patience); ; {
			s, err := oneSample(o, th)
			if o.pool.Put(s); err == nil {
				break
			}
			if !errors.Is(err, errs.MapLock) || time.Now().After(end) {
				t.Fatal(err)
			}
		}
	})
}

func oneSample(o *Observer, th *Thread) (s *RawSample, err error) {
	outcome, s, err := o.Begin(th)
	if err != nil || outcome != Pending {
		return s, err
	}
	for o.Stops.Attached() > 0 {
		if stopped, raw, failed := o.Stops.Next(ptrace.Now().Add(1e9)); stopped != nil {
			s, err = raw, failed
		}
	}
	return s, err
}

func collected(o *Observer) (err error) {
	for o.Stops.Attached() > 0 {
		if stopped, s, failed := o.Stops.Next(ptrace.Now().Add(1e9)); stopped != nil {
			o.pool.Put(s)
			err = failed
		}
	}
	return err
}

func observations(
	t *testing.T, o *Observer, th *Thread, enough func(awaited, stopped int) bool,
) (awaited, stopped int) {
	for end := time.Now().Add(testtargets.Patience); !enough(awaited, stopped) && time.Now().Before(end); {
		s, err := oneSample(o, th)
		if err != nil {
			t.Error(err)
			return awaited, stopped
		}
		if s != nil && s.How == ByStop {
			if stopped++; th.Memory.MmapLockOftenHeld() {
				awaited++
			}
			if len(s.Mem.Stack.Bytes) == 0 {
				t.Error("an observation without a stack")
			}
		}
		o.pool.Put(s)
		procmem.SleepUntil(int64(ptrace.Now().Add(1e6)))
	}
	return awaited, stopped
}
