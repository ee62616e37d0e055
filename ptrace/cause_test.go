// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

func TestCauseOfALongStopIsWhatTookMostOfTheTime(t *testing.T) {
	const us = time.Microsecond
	copied := evidence{detectionDelay: 5 * us, held: 900 * us, copying: 880 * us, bytes: 1 << 20}
	for name, c := range map[string]struct {
		change func(e *evidence)
		want   Cause
	}{
		"large copy":           {func(*evidence) {}, CauseCopy},
		"small copy":           {func(e *evidence) { e.bytes = 4096 }, CauseOther},
		"a fault on each page": {func(e *evidence) { e.faults = 4096 }, CauseFault},
		"faults on most pages": {func(e *evidence) { e.faults = (e.bytes / pageSize) * 3 / 4 }, CauseFault},
		"some faults":          {func(e *evidence) { e.faults = 3 }, CauseCopy},
		"a page read from disk": {func(e *evidence) { e.fromDisk, e.waited, e.offCPU = 1, 1, 800*us },
			CauseFault},
		"long wait":              {func(e *evidence) { e.waited, e.offCPU = 1, 800*us }, CauseLock},
		"short wait":             {func(e *evidence) { e.waited, e.offCPU = 1, 100*us }, CauseCopy},
		"another thread ran":     {func(e *evidence) { e.preempted, e.offCPU = 1, 800*us }, CausePreempted},
		"no thread ran":          {func(e *evidence) { e.offCPU = 800 * us }, CauseStolen},
		"other stops came first": {func(e *evidence) { e.detectionDelay = 1000 * us }, CauseTurn},
		"other stops came first, and waited": {func(e *evidence) {
			e.detectionDelay, e.offCPU, e.waited = 1000*us, 1000*us, 2
		}, CauseLock},
		"short copy in a long stop": {func(e *evidence) { e.copying = 10 * us }, CauseOther},
	} {
		e := copied
		if c.change(&e); e.cause() != c.want {
			t.Errorf("%s: cause %v, want %v", name, e.cause(), c.want)
		}
	}
	for c := range NumCauses + 2 {
		if (c.String() == "?") != (c >= NumCauses) {
			t.Errorf("cause %d has the name %q", c, c)
		}
	}
}

type doing struct {
	Wrapped
	do func(rd *Reader)
}

func (d doing) Regions(_ *frames.Regs, rd *Reader, _ []frames.Region) int {
	d.do(rd)
	return 0
}

func addressOf(b []byte) uint64 { return uint64(reflect.ValueOf(b).Pointer()) }

// Other load can be the cause at first.
func provoke(t *testing.T, c *Controller, tid int, want Cause, bytes int64, do func(rd *Reader)) {
	t.Helper()
	seen := map[Cause]int{}
	for range 100 {
		var s Stop
		Pin()
		err := c.StopThread(tid, soon(), &Request{OtherMemory: doing{do: do}, Regions: []frames.Region{{}}}, &s)
		Unpin()
		if err != nil {
			t.Error(err)
			return
		}
		why := c.CauseOf(&s, bytes)
		if seen[why]++; why == want {
			return
		}
	}
	t.Errorf("cause %v was not found in a hundred stops, only %v", want, seen)
}

func TestProvokedCausesAreReported(t *testing.T) {
	p := start(t, "spin")
	buf := make([]byte, 16<<20)
	copied := make([]byte, len(buf))
	for i := range buf {
		buf[i], copied[i] = 1, 1
	}
	untouched, err := unix.Mmap(-1, 0, len(buf), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err == nil {
		err = unix.Madvise(untouched, unix.MADV_NOHUGEPAGE)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(untouched) }()
	with(t, Options{}, func(c *Controller) {
		provoke(t, c, p.tid, CauseFault, int64(len(buf)), func(*Reader) {
			_ = unix.Madvise(untouched, unix.MADV_DONTNEED)
			procmem.RawReadVM(unix.Getpid(), addressOf(untouched), buf)
		})
		provoke(t, c, p.tid, CauseCopy, int64(len(buf)), func(*Reader) {
			procmem.RawReadVM(unix.Getpid(), addressOf(buf), copied)
		})
		provoke(t, c, p.tid, CauseLock, 0, func(*Reader) { nanosleep(2e6) })
		provoke(t, c, p.tid, CauseOther, 0, func(*Reader) {
			for end := Now().Add(1e6); Now() < end; {
			}
		})
	})
}

// A late stop's evidence is not that of the time in which it was pending.
func TestWaitsBeforeALateStopAreNotItsCause(t *testing.T) {
	p := start(t, "spin")
	with(t, Options{}, func(c *Controller) {
		seen := map[Cause]int{}
		for range 100 {
			attachment, err := c.Begin(p.tid)
			if err != nil {
				t.Error(err)
				return
			}
			nanosleep(3e6)          // as a wait for a lock does, not counted as an intended sleep
			c.lastEmptyPoll = Now() // as if the thread had run until now
			if got := c.WaitAny(soon()); got != attachment {
				t.Errorf("%v, want the thread's attachment", got)
				return
			}
			var s Stop
			busy := doing{do: func(*Reader) {
				for end := Now().Add(1e6); Now() < end; {
				}
			}}
			if err := c.Finish(attachment, &Request{OtherMemory: busy, Regions: []frames.Region{{}}}, &s); err != nil {
				t.Error(err)
				return
			}
			why := c.CauseOf(&s, 0)
			if !s.Times.late() {
				continue // a signal has ended the wait
			}
			if seen[why]++; why == CauseOther {
				return
			}
		}
		t.Errorf("causes %v, want %v: a wait before the stop is no cause", seen, CauseOther)
	})
}

func TestPreemptionOfTheTracerIsReported(t *testing.T) {
	p := start(t, "spin")
	with(t, Options{KeepPriority: true}, func(c *Controller) {
		var here unix.CPUSet
		here.Set(procmem.CPU())
		if unix.SchedSetaffinity(0, &here) != nil || unix.SchedSetaffinity(p.tid, &here) != nil {
			t.Error("tracer and target cannot be bound to one CPU")
			return
		}
		var stop atomic.Bool
		var hogs sync.WaitGroup
		for range 4 {
			hogs.Go(func() {
				procmem.OnOSThread(func() {
					_ = unix.SchedSetaffinity(0, &here)
					for !stop.Load() {
					}
				})
			})
		}
		provoke(t, c, p.tid, CausePreempted, 0, func(*Reader) {
			for end := Now().Add(30e6); Now() < end; {
			}
		})
		stop.Store(true)
		hogs.Wait()
	})
}
