// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"math"
	"strings"
	"testing"

	"prywalk/internal/look"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

// samplingOwn is sampling, thread by thread and in user space, as ordinary users may have it.
func samplingOwn(t *testing.T, freq float64) Options {
	t.Helper()
	if err := perfevents.TryOwn(); err != nil {
		t.Skip(err)
	}
	r, err := perfevents.OpenOwn(perfevents.Options{Freq: freq})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return Options{Freq: freq, Events: r}
}

// TestAThreadThatAStopMetRunningIsFollowed, and no sleeper is; in the end all descriptors are there again.
func TestAThreadThatAStopMetRunningIsFollowed(t *testing.T) {
	var c *Tracer
	onTicksOf(t, samplingOwn(t, 499), func(tick func(), tracer *Tracer) {
		c = tracer
		for c.counts.sampled < 20 {
			if tick(); c.samples.unfollowed > 0 {
				t.Error("the kernel refuses samples of a thread that it gave before")
				return
			}
		}
		for _, th := range c.procs[0].list.inOrder {
			if n := th.followed.events; n != 0 && n != c.samples.reader.Events() || n == 0 && !th.followed.refused &&
				th.look.Sampled() {
				t.Errorf("thread %d has %d events, sampled: %v", th.look.TID, n, th.look.Sampled())
			}
		}
		if c.counts.freezes.n == 0 {
			t.Error("samples came of a thread that no stop had met")
		}
	}, "burners", "1")
	if n := c.samples.reader.Followed(); n != 0 {
		t.Errorf("%d threads are still followed", n)
	}
}

// TestSleepersAreNotFollowed: they would take descriptors for nothing. Only a stop has a thread followed.
func TestSleepersAreNotFollowed(t *testing.T) {
	onTicksOf(t, samplingOwn(t, 499), func(tick func(), c *Tracer) {
		for range 5 {
			tick()
		}
		if n := c.samples.reader.Followed(); int64(n) > c.counts.frozen { // one may not have slept yet
			t.Errorf("%d are followed, %d were stopped", n, c.counts.frozen)
		}
	}, "sleepers", "3")
}

// TestAThreadThatMayNotBeSampledAnyMoreIsPtraces: as where kernel.perf_event_paranoid was raised in the run. Here the
// kernel refuses because there is no such thread. The closing line tells it, and the descriptors are there again.
func TestAThreadThatMayNotBeSampledAnyMoreIsPtraces(t *testing.T) {
	onTicksOf(t, samplingOwn(t, 499), func(tick func(), c *Tracer) {
		tick()
		k, th := &c.samples, c.procs[0].list.inOrder[0]
		c.unfollow(th)
		tid, unfollowed := th.look.TID, k.unfollowed
		th.look.TID = math.MaxInt32
		for range 3 {
			c.followIfItRan(th, &look.Shot{How: look.ByFreeze, State: sample.Running})
		}
		th.look.TID = tid
		if k.unfollowed != unfollowed+1 || !th.followed.refused || th.followed.events != 0 || th.look.Sampled() {
			t.Errorf("%d refused; %+v, sampled: %v", k.unfollowed-unfollowed, th.followed, th.look.Sampled())
		}
		if note := k.leftThreads(); !strings.Contains(note, "that may not be sampled") {
			t.Errorf("%q", note)
		}
		for range 3 {
			if tick(); th.look.Sampled() {
				t.Error("it is sampled all the same")
			}
		}
	}, "sleepers", "1")
}

// TestThreadsInTheKernelArePtraces: a twentieth may be missing, of 200 periods or more; and more where the kernel's own
// account says that the thread was not in the kernel.
func TestThreadsInTheKernelArePtraces(t *testing.T) {
	o := samplingOwn(t, 100)
	for _, v := range []struct {
		periods, heard, doubts, inKernel int64 // of 10 ms each, as the clock tick
		followed, anew                   bool
	}{
		{judgedAfter - 1, 0, 0, judgedAfter, true, false},
		{judgedAfter, 190, 0, judgedAfter, true, true},
		{judgedAfter, 189, 0, 12, false, false},
		{judgedAfter, 189, 0, 11, true, false},       // it was elsewhere, as far as the kernel's account tells
		{judgedAfter, 10, 0, 0, true, false},         // buffers ran over
		{2*judgedAfter - 1, 10, 1, 200, true, false}, // it is not judged as often
		{2 * judgedAfter, 10, 1, 22, false, false},
		{forgetAfter * judgedAfter, 10, forgetAfter - 1, 0, true, true},
		{judgedAfter, 230, 0, 0, true, true}, // the clock goes on while another system has the processor
		{10 * judgedAfter, 1899, 0, 102, false, false},
	} {
		onTicksOf(t, o, func(tick func(), c *Tracer) {
			tick()
			th := c.procs[0].list.inOrder[0]
			c.files.Take(1)
			var st procmem.Stat
			if err := th.look.Stat(&st); err != nil {
				t.Fatal(err)
			}
			th.followed = followed{events: 1, heard: v.heard, doubts: v.doubts, kernel: st.STime - uint64(v.inKernel)}
			th.sampled.read = sample.Reading{CPU: v.periods * c.samples.reader.Period()}
			c.judgeFollowed(th)
			if f := th.followed; (f.events == 1) != v.followed || f.refused == v.followed || (f.from > 0) != v.anew {
				t.Errorf("%+v: %+v", v, f)
			}
			th.sampled.read = sample.Reading{}
		}, "sleepers", "1")
	}
}
