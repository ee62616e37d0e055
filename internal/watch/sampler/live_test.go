// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/account/attribute"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/target"
)

func every(*pprof.Sample) bool { return true }

func burnt(n int) func(*recorded) bool {
	return func(r *recorded) bool {
		return r.count(func(s *pprof.Sample) bool { return s.Value[3] > 0 && in("burn_here")(s) }) >= n
	}
}

func allAsleep(t *testing.T, pid int) {
	t.Helper()
	still := 0
	testtargets.Eventually(t, "its threads sleep, at twenty looks in a row", func() bool {
		tids, err := procmem.ListTasks(pid, nil)
		if err != nil {
			t.Fatal(err)
		}
		still++
		for _, tid := range tids {
			var s procmem.Stat
			if err := procmem.OpenThread(pid, tid, nil).Stat(&s); err != nil || s.State != 'S' {
				still = 0
			}
		}
		return still == 20
	})
}

func TestSleepersAreReadOnceThenUnchangedAndNeverStopped(t *testing.T) {
	program := start(t, "sleepers", "30")
	allAsleep(t, program.pid)
	r := record(t, target.SamplingOptions{}, time.Second, nil, program.pid)
	if r.Stops != 0 || r.Restarted != 0 {
		t.Errorf("%d stops", r.Stops)
	}
	if r.PassiveReads < 31 || r.PassiveReads > 2*31 || r.Unchanged < r.PassiveReads {
		t.Errorf("%d passive reads, %d unchanged", r.PassiveReads, r.Unchanged)
	}
	if n := r.sumOf(0, in("sleep_here")); n != r.sumOf(0,
		func(s *pprof.Sample) bool { return strings.HasPrefix(label(s, "thread"), "sleeper-") }) || n == 0 {
		t.Errorf("%d samples in sleep_here", n)
	}
	for _, s := range r.Sample {
		if r.Gaps > 0 && stack(s)[0] == attribute.NotObserved { // the tracer had no CPU
			continue
		}
		if label(s, "state") != "sleeping" || label(s, "wait") != "read" && label(s, "wait") != "pause" {
			t.Errorf("%v", s.Label)
		}
	}
	if r.ThreadsMax != 31 {
		t.Errorf("%d threads", r.ThreadsMax)
	}
}

func TestRunningThreadsAreStoppedAndTheirTimeIsTheKernels(t *testing.T) {
	program := start(t, "burners", "2")
	before, _ := procmem.ProcessCPU(program.pid)
	r := recordUntil(t, target.SamplingOptions{Freq: 199}, burnt(50), program.pid)
	after, _ := procmem.ProcessCPU(program.pid)
	if r.Stops == 0 || r.StopTime.Max <= 0 {
		t.Errorf("nothing was stopped: %+v", r.Stats)
	}
	if r.CopiedBytes.P50 <= 0 || r.CopiedBytes.P50 > r.CopiedBytes.P99 || r.CopiedBytes.P99 > r.CopiedBytes.Max ||
		r.CopiedBytes.Max > 1<<20 {
		t.Errorf("bytes copied: %d, %d, %d", r.CopiedBytes.P50, r.CopiedBytes.P99, r.CopiedBytes.Max)
	}
	if r.ProfiledCPU > float64(after-before)/1e9 || r.ProfiledCPU == 0 {
		t.Errorf("%v s in the profile, %v s by the kernel", r.ProfiledCPU, float64(after-before)/1e9)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.001 || d > 0.001 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	r.checkBurnt(t)
}

// checkBurnt demands that threads which only compute have CPU time in burn_here and in no other function. What was not
// observed, as prywalk got no CPU, is a frame of its own.
func (r *recorded) checkBurnt(t *testing.T) {
	t.Helper()
	if r.sumOf(3, in("burn_here")) == 0 {
		t.Error("no CPU time is in burn_here")
	}
	for _, s := range r.Sample {
		if s.Value[3] == 0 || in("burn_here")(s) || !strings.HasPrefix(label(s, "thread"), "burner") {
			continue
		}
		if leaf := stack(s)[0]; leaf != attribute.NotObserved && leaf != attribute.ExitedUnseen {
			t.Errorf("%d ns of %s are in %q", s.Value[3], label(s, "thread"), stack(s))
		}
	}
}

func TestAThreadsWallTimeIsTheTimeObserved(t *testing.T) {
	program := start(t, "mixed", "3")
	r := recordUntil(t, target.SamplingOptions{}, eachFor(5, 1.1), program.pid)
	wall := r.walls()
	if len(wall) != 5 {
		t.Errorf("%d threads", len(wall))
	}
	for tid, ns := range wall {
		if d := time.Duration(ns).Seconds(); d > r.Seconds {
			t.Errorf("thread %d: %v s of %v in all", tid, d, r.Seconds)
		}
	}
}

func (r *recorded) walls() map[int64]int64 {
	wall := map[int64]int64{}
	for _, s := range r.Sample {
		if label(s, "thread") != attribute.ExitedThread { // of the process, beyond the last samples of its threads
			wall[s.NumLabel["tid"][0]] += s.Value[1]
		}
	}
	return wall
}

func eachFor(threads int, seconds float64) func(*recorded) bool {
	return func(r *recorded) bool {
		n := 0
		for _, ns := range r.walls() {
			if float64(ns)/1e9 > seconds {
				n++
			}
		}
		return n >= threads
	}
}

func TestThreadsThatComeAndGoLoseNoTimeAndNoFiles(t *testing.T) {
	program := start(t, "churn")
	files := testtargets.Descriptors(t)
	r := record(t, target.SamplingOptions{Freq: 999}, 1500*time.Millisecond, nil, program.pid)
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.002 || d > 0.002 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	if r.ExitedUnseenCPU+r.EstimatedCPU == 0 {
		t.Error("threads that lived for a millisecond have all been seen")
	}
	if unseen := float64(r.sumOf(3, in(attribute.ExitedUnseen))) / 1e9; unseen < r.ExitedUnseenCPU-1e-6 ||
		unseen > r.ExitedUnseenCPU+1e-6 {
		t.Errorf("%v s are not seen, %v of them in the profile", r.ExitedUnseenCPU, unseen)
	}
	if now := testtargets.Descriptors(t); now > files+3 {
		t.Errorf("%d open files, %d before", now, files)
	}
}

func TestStoppedProcessStaysStoppedAndIsReused(t *testing.T) {
	for _, when := range []string{"before", "during"} {
		t.Run(when, func(t *testing.T) {
			program := start(t, "mixed", "3")
			stop := func(*Sampler) { program.signal(t, unix.SIGSTOP) }
			if when == "before" {
				stop(nil)
				await(t, "all threads are stopped", func() bool {
					tids, err := procmem.ListTasks(program.pid, nil)
					return err == nil && !slices.ContainsFunc(tids, func(tid int) bool { return state(tid) != "T" })
				})
				stop = nil
			}
			stopped := func(s *pprof.Sample) bool { return label(s, "state") == "stopped" && label(s, "wait") == "stopped" }
			r := recordDuring(t, target.SamplingOptions{}, func(r *recorded) bool {
				n := r.sumOf(0, stopped)
				return n > 200 && n > r.sumOf(0, every)/4
			}, stop, program.pid)
			await(t, "stopped afterwards", func() bool { return state(program.pid) == "T" })
			n := r.sumOf(0, stopped)
			if n < time.Duration(r.Samples/4) {
				t.Errorf("%d of %d samples stopped", n, r.Samples)
			}
			if when == "before" && (r.Stops > 4*5 || r.Unchanged < r.Stops || n != time.Duration(r.Samples)) {
				t.Errorf("%d of %d stopped; %d stops, %d unchanged", n, r.Samples, r.Stops, r.Unchanged)
			}
			program.signal(t, unix.SIGCONT)
			cpu, _ := procmem.ProcessCPU(program.pid)
			await(t, "it runs on", func() bool { now, _ := procmem.ProcessCPU(program.pid); return now > cpu+5e6 })
		})
	}
}

func TestProcessWithoutItsFirstThread(t *testing.T) {
	program := start(t, "leaderless")
	r := recordUntil(t, target.SamplingOptions{}, burnt(5), program.pid)
	for reason := range r.Failed {
		if reason != "zombie" && reason != "exited" {
			t.Errorf("failed: %v", r.Failed)
		}
	}
}

func TestCheckpointComesWhileTheRunGoesOn(t *testing.T) {
	program := start(t, "mixed", "3")
	got := make(chan struct{}, 100)
	o := target.SamplingOptions{Checkpoint: func(Checkpointing) { got <- struct{}{} }}
	record(t, o, patience, func(s *Sampler) {
		stopped(t, s, 1)
		for range 2 {
			s.CheckpointNow()
			bounded.Receive(t, "a checkpoint", got)
		}
		program.signal(t, unix.SIGKILL)
	}, program.pid)
}

func TestSeveralProcesses(t *testing.T) {
	one, two := start(t, "main"), start(t, "sleepers", "2")
	r := record(t, target.SamplingOptions{}, 0, func(s *Sampler) {
		stopped(t, s, 2)
		one.signal(t, unix.SIGKILL)
		await(t, "it is gone", func() bool { return s.Progress().Tracer.Threads == 3 })
		ticks := s.Progress().Tracer.Ticks
		await(t, "the other goes on", func() bool { return s.Progress().Tracer.Ticks > ticks+10 })
	}, one.pid, two.pid)
	for _, target := range []*running{one, two} {
		if r.sumOf(0, func(s *pprof.Sample) bool { return s.NumLabel["pid"][0] == int64(target.pid) }) == 0 {
			t.Errorf("no samples of process %d", target.pid)
		}
	}
}

func TestManyThreadsAreAllSampled(t *testing.T) {
	wakers := testtargets.Times(100, 300)
	program := start(t, "wakers", strconv.Itoa(wakers))
	recordUntil(t, target.SamplingOptions{}, func(r *recorded) bool { return len(r.walls()) == wakers+1 }, program.pid)
}
