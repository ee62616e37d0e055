// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func TestLoadIsHighWhereThisThreadIsQueuedForATenthOfTheTime(t *testing.T) {
	for _, c := range []struct {
		queued time.Duration
		high   bool
	}{{25e6, false}, {26e6, true}, {0, false}} {
		var l ownLoad
		if l.learn(1, 7e9); l.isHigh {
			t.Error("high after the first reading")
		}
		if l.learn(1+250e6, 7e9+c.queued); l.isHigh != c.high {
			t.Errorf("%+v: %v", c, l.isHigh)
		}
	}
}

func TestALoadIsMeasuredOverATimeThatDependsOnIt(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l := ownLoad{files: procmem.OpenThread(os.Getpid(), unix.Gettid(), procmem.NewFDBudget(0))} // at any priority
	defer l.close()
	now := ptrace.Moment(1e12)
	read := func(after time.Duration) bool {
		l.at = now
		l.measure(now.Add(after))
		return l.at != now
	}
	for _, high := range []bool{false, true} {
		wait := map[bool]time.Duration{false: highAfter, true: lowAfter}[high]
		if l.isHigh = high; read(wait - 1) {
			t.Errorf("high %v: read too early", high)
		}
		if l.isHigh = high; !read(wait) {
			t.Errorf("high %v: not read", high)
		}
	}
}

func TestTheLoadOfAnEndedThreadIsForgotten(t *testing.T) {
	child := exec.Command("true")
	if err := bounded.Run(child); err != nil {
		t.Fatal(err)
	}
	pid := child.Process.Pid
	l := ownLoad{files: procmem.OpenThread(pid, pid, procmem.NewFDBudget(0)), at: 1, isHigh: true}
	if l.measure(1e12); l != (ownLoad{failedAt: 1e12}) {
		t.Errorf("%+v", l)
	}
}

func TestNoLoadIsMeasuredAtARaisedPriority(t *testing.T) {
	l := ownLoad{isRaised: true}
	if l.measure(1e12); l.files != nil || l.at != 0 {
		t.Error("measured")
	}
}

// A thread that waits for its CPU makes the threads that it stops wait.
func TestKernelSamplesReplaceStopsThatWouldComeLate(t *testing.T) {
	onRig(t, sampling(t, perfevents.ReaderOptions{Freq: 99}), &target.SamplingOptions{}, func(r *rig) {
		p := r.procs.all[0]
		p.tracked.RaiseLack(target.LacksStacks)
		r.modes.mayFallBack, r.modes.load.at = true, ptrace.Now().Add(1e15)
		for _, high := range []bool{false, true, false} {
			r.modes.load.isHigh = high
			if r.tick(); (p.mode == modeSamples) != high {
				t.Errorf("load high: %v; sampled by the kernel: %v", high, !high)
			}
		}
		p.tracked.RaiseLack(target.LacksFrames)
		r.modes.load.isHigh = true
		if r.tick(); p.mode == modeSamples {
			t.Error("its frames are never in kernel samples")
		}
	}, "sleepers", "1")
}
