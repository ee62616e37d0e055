package sampler

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

func every(*pprof.Sample) bool { return true }

// allAsleep waits until every thread of a process sleeps, and has done so for a moment:
// the program is ready before its last call is reached.
func allAsleep(t *testing.T, pid int) {
	t.Helper()
	for still := 0; still < 20; time.Sleep(5 * time.Millisecond) {
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
	}
}

func TestSleepersArePeekedOnceThenReusedAndNeverFrozen(t *testing.T) {
	target := start(t, "sleepers", "30")
	allAsleep(t, target.pid)
	r := record(t, Options{}, time.Second, nil, target.pid)
	if r.Frozen != 0 || r.Restarted != 0 {
		t.Errorf("%d frozen", r.Frozen)
	}
	// Who slept all the time was looked at once; a few may have been woken by
	// whatever the kernel did.
	if r.Peeked < 31 || r.Peeked > 2*31 || r.Reused < r.Peeked {
		t.Errorf("%d peeked, %d reused", r.Peeked, r.Reused)
	}
	if n := r.sumOf(0, in("sleep_here")); n != r.sumOf(0, func(s *pprof.Sample) bool { return strings.HasPrefix(label(s, "thread"), "sleeper-") }) || n == 0 {
		t.Errorf("%d samples in sleep_here", n)
	}
	for _, s := range r.Sample {
		if label(s, "state") != "sleeping" || label(s, "wait") != "read" && label(s, "wait") != "pause" {
			t.Errorf("%v", s.Label)
		}
	}
	if r.ThreadsMax != 31 {
		t.Errorf("%d threads", r.ThreadsMax)
	}
}

func TestRunningThreadsAreFrozenAndTheirTimeIsTheKernels(t *testing.T) {
	target := start(t, "burners", "2")
	before, _ := procmem.ProcessCPU(target.pid)
	r := record(t, Options{Freq: 199}, time.Second, nil, target.pid)
	after, _ := procmem.ProcessCPU(target.pid)
	if r.Frozen == 0 || r.FreezeMax <= 0 {
		t.Errorf("nothing was frozen: %+v", r.Stats)
	}
	// The recording lies within the two readings, and what it has is the kernel's.
	if r.ProfiledCPU > float64(after-before)/1e9 || r.ProfiledCPU == 0 {
		t.Errorf("%v s in the profile, %v s by the kernel", r.ProfiledCPU, float64(after-before)/1e9)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.001 || d > 0.001 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	if burnt := r.sumOf(3, in("burn_here")); float64(burnt)/1e9 < 0.9*r.ProfiledCPU {
		t.Errorf("%v of %v s in burn_here", float64(burnt)/1e9, r.ProfiledCPU)
	}
}

// TestAThreadsWallTimeIsTheTimeObserved: sleeping, running and queued time of a
// thread add up to the time from its first look to its last.
func TestAThreadsWallTimeIsTheTimeObserved(t *testing.T) {
	target := start(t, "mixed", "3")
	r := record(t, Options{}, time.Second, nil, target.pid)
	wall := map[int64]int64{}
	for _, s := range r.Sample {
		if stack(s)[0] != ExitedUnseen { // that is the process's, beyond the last looks at its threads
			wall[s.NumLabel["tid"][0]] += s.Value[1]
		}
	}
	if len(wall) != 5 {
		t.Errorf("%d threads", len(wall))
	}
	for thread, got := range wall {
		if d := time.Duration(got).Seconds(); d > r.Seconds || d < r.Seconds-5*r.period.Seconds()-0.1*r.Seconds {
			t.Errorf("thread %d: %v s of %v", thread, d, r.Seconds)
		}
	}
}

func TestThreadsThatComeAndGoLoseNoTimeAndNoFiles(t *testing.T) {
	target := start(t, "churn")
	files := openFiles(t)
	r := record(t, Options{Freq: 999}, 1500*time.Millisecond, nil, target.pid)
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.002 || d > 0.002 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	if r.ExitedUnseenCPU == 0 || r.sumOf(3, in(ExitedUnseen)) == 0 {
		t.Error("threads that lived for a millisecond have all been seen")
	}
	if now := openFiles(t); now > files+3 {
		t.Errorf("%d open files, %d before", now, files)
	}
}

// openFiles counts this process's descriptors.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestProcessThatEndsEndsTheRun(t *testing.T) {
	target := start(t, "ends", "300")
	r := record(t, Options{}, time.Minute, nil, target.pid)
	if r.Seconds > 50 || r.ProfiledCPU == 0 {
		t.Errorf("%v s, %v s of CPU", r.Seconds, r.ProfiledCPU)
	}
}

func TestKilledProcessEndsTheRun(t *testing.T) {
	target := start(t, "mixed", "5")
	r := record(t, Options{}, time.Minute, func(*Sampler) {
		time.Sleep(300 * time.Millisecond)
		target.signal(t, unix.SIGKILL)
	}, target.pid)
	if r.Seconds > 50 || r.sumOf(3, in("burn_here")) == 0 {
		t.Errorf("%v s, %v s of CPU", r.Seconds, r.ProfiledCPU)
	}
}

func TestStoppedProcessStaysStoppedAndIsReused(t *testing.T) {
	for _, when := range []string{"before", "during"} {
		t.Run(when, func(t *testing.T) {
			target := start(t, "mixed", "3")
			stop := func(*Sampler) { target.signal(t, unix.SIGSTOP) }
			if when == "before" {
				stop(nil)
				for state(target.pid) != "T" {
					time.Sleep(time.Millisecond)
				}
				stop = nil
			}
			r := record(t, Options{}, 1500*time.Millisecond, stop, target.pid)
			if s := state(target.pid); s != "T" {
				t.Errorf("state %s afterwards", s)
			}
			stopped := func(s *pprof.Sample) bool { return label(s, "state") == "stopped" && label(s, "wait") == "stopped" }
			n := r.sumOf(0, stopped)
			if n < r.Samples/4 {
				t.Errorf("%d of %d samples stopped", n, r.Samples)
			}
			if when == "before" && (r.Frozen > 4*5 || r.Reused < r.Frozen || n != r.Samples) {
				t.Errorf("%d of %d stopped; %d frozen, %d reused", n, r.Samples, r.Frozen, r.Reused)
			}
			target.signal(t, unix.SIGCONT)
			cpu, _ := procmem.ProcessCPU(target.pid)
			for now := cpu; now < cpu+5e6; now, _ = procmem.ProcessCPU(target.pid) {
				time.Sleep(time.Millisecond)
			}
		})
	}
}

func TestNewProgramAfterExecIsSeenUnderItsOwnName(t *testing.T) {
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	other := exe + "-after"
	if err := os.Link(exe, other); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(other) })
	target := start(t, "exec", other)
	r := record(t, Options{}, 1500*time.Millisecond, nil, target.pid)
	// The old one burns in its first thread, the new one in a second.
	before := r.sumOf(3, func(s *pprof.Sample) bool { return in("burn_here")(s) && label(s, "comm") == "threads" })
	after := r.sumOf(3, func(s *pprof.Sample) bool {
		return in("burn_here")(s) && label(s, "comm") == "threads-after" && label(s, "thread") == "burner-0"
	})
	if before == 0 || after == 0 {
		t.Errorf("%d ns before, %d ns after the exec", before, after)
	}
	for _, s := range r.Sample {
		if label(s, "comm") == "threads" && label(s, "thread") == "burner-0" {
			t.Errorf("a thread of the new program in process %s", label(s, "comm"))
		}
	}
}

func TestChildrenAreFollowedAndCountFromTheirStart(t *testing.T) {
	target := start(t, "forks", "60")
	r := record(t, Options{Children: true}, time.Second, nil, target.pid)
	pids := map[int64]bool{}
	for _, s := range r.Sample {
		pids[s.NumLabel["pid"][0]] = true
	}
	if len(pids) < 3 {
		t.Errorf("%d processes", len(pids))
	}
	if r.sumOf(3, in("burn_here")) == 0 {
		t.Error("no child was seen running")
	}
}

// TestChildThatWasThereBeforeCountsFromTheRecordingsStart: what it used before
// is not the recording's.
func TestChildThatWasThereBeforeCountsFromTheRecordingsStart(t *testing.T) {
	target := start(t, "parent", "1000")
	target.expect(t, "older")
	r := record(t, Options{Children: true}, 300*time.Millisecond, nil, target.pid)
	if r.ProfiledCPU == 0 || r.ProfiledCPU > r.Seconds+0.02 {
		t.Errorf("%v s of CPU by one child in %v s", r.ProfiledCPU, r.Seconds)
	}
}

func TestThreadsAreSelectedByName(t *testing.T) {
	target := start(t, "mixed", "5")
	r := record(t, Options{Threads: regexp.MustCompile("^sleeper-[12]$")}, 500*time.Millisecond, nil, target.pid)
	if r.ThreadsMax != 2 {
		t.Errorf("%d threads", r.ThreadsMax)
	}
	for _, s := range r.Sample {
		if !strings.HasPrefix(label(s, "thread"), "sleeper-") {
			t.Errorf("%v of %v", stack(s), s.Label)
		}
	}
}

func TestNameThatComesLateIsFound(t *testing.T) {
	target := start(t, "late", "4")
	r := record(t, Options{}, 1200*time.Millisecond, nil, target.pid)
	for i := range 4 {
		if n := r.sumOf(0, func(s *pprof.Sample) bool { return label(s, "thread") == fmt.Sprintf("late-%d", i) }); n == 0 {
			t.Errorf("no samples of late-%d", i)
		}
	}
	target = start(t, "late", "4")
	r = record(t, Options{Threads: regexp.MustCompile("^late-")}, 1200*time.Millisecond, nil, target.pid)
	if r.ThreadsMax != 4 {
		t.Errorf("%d threads were selected", r.ThreadsMax)
	}
}

func TestProcessWithoutItsFirstThread(t *testing.T) {
	target := start(t, "leaderless")
	r := record(t, Options{}, 500*time.Millisecond, nil, target.pid)
	if r.sumOf(3, in("burn_here")) == 0 {
		t.Errorf("%+v", r.Stats)
	}
	for reason := range r.Failed {
		if reason != "zombie" && reason != "exited" {
			t.Errorf("failed: %v", r.Failed)
		}
	}
}

func TestMaxDepthCutsAndSaysSo(t *testing.T) {
	target := start(t, "mixed", "2")
	r := record(t, Options{MaxDepth: 1}, 300*time.Millisecond, nil, target.pid)
	for _, s := range r.Sample {
		st := stack(s)
		if st[0] == ExitedUnseen {
			continue
		}
		places := len(s.Location) // with inlined calls there are more names
		if st[0] == RanBetweenTicks || st[0] == BlockedBetweenTicks {
			places--
		}
		if places != 2 || st[len(st)-1] != "[incomplete: depth]" {
			t.Errorf("%v", st)
		}
	}
	if r.Incomplete["depth"] == 0 {
		t.Errorf("%v", r.Incomplete)
	}
}

// TestDeepStacksAreWhole: of 12,000 frames and more than a megabyte, of a thread that
// runs and of one that sleeps. The first copy is too short and says so; no later one is.
func TestDeepStacksAreWhole(t *testing.T) {
	const depth = 12000
	target := start(t, "deep", strconv.Itoa(depth))
	r := record(t, Options{MaxDepth: 2 * depth}, 2*time.Second, nil, target.pid)
	for _, thread := range []string{"deep-s-0", "deep-b-0"} {
		whole, cut := int64(0), int64(0)
		for _, s := range r.Sample {
			if label(s, "thread") != thread {
				continue
			}
			frames := stack(s)
			calls := 0
			for _, f := range frames {
				if f == "deep" {
					calls++
				}
			}
			switch last := frames[len(frames)-1]; {
			case last == "[incomplete: stack-cut]":
				cut += s.Value[0]
			case calls != depth:
				t.Errorf("%s: %d calls of %d in %d frames, then %s", thread, calls, depth, len(frames), last)
			default:
				whole += s.Value[0]
			}
		}
		if whole == 0 || cut > 8 {
			t.Errorf("%s: %d whole, %d cut", thread, whole, cut)
		}
	}
}

func TestReadOnlyRestartsNothing(t *testing.T) {
	target := start(t, "mixed", "5")
	if r := record(t, Options{ReadOnly: true}, 300*time.Millisecond, nil, target.pid); r.Restarted != 0 || r.Frozen == 0 {
		t.Errorf("%d restarted, %d frozen", r.Restarted, r.Frozen)
	}
}

func TestPauseLimitBelowAnyFreezeFreezesNothing(t *testing.T) {
	target := start(t, "mixed", "5")
	r := record(t, Options{MaxPause: 1, Freq: 999}, time.Second, nil, target.pid)
	if r.Frozen != 0 || r.Failed["max-pause"] == 0 || r.Peeked < 5 || r.Reused == 0 {
		t.Errorf("%d frozen, %d peeked, %d reused, %v", r.Frozen, r.Peeked, r.Reused, r.Failed)
	}
}

func TestPauseLimitAboveAnyFreezeKeepsNone(t *testing.T) {
	target := start(t, "mixed", "5")
	if r := record(t, Options{MaxPause: time.Minute}, 300*time.Millisecond, nil, target.pid); r.Frozen == 0 || r.Failed["max-pause"] != 0 {
		t.Errorf("%d frozen, %v", r.Frozen, r.Failed)
	}
}

func TestMaxOverheadLowersTheRate(t *testing.T) {
	target := start(t, "mixed", "1")
	// A freeze and its after-effects take 20 µs at least: 0.01 % are at most five
	// a second.
	r := record(t, Options{Freq: 999, MaxOverhead: 0.0001}, 1500*time.Millisecond, nil, target.pid)
	if r.Ticks > 100 {
		t.Errorf("%d ticks", r.Ticks)
	}
}

func TestCheckpointComesWhileTheRunGoesOn(t *testing.T) {
	target := start(t, "mixed", "3")
	got := make(chan struct{}, 100)
	o := Options{Checkpoint: func() { got <- struct{}{} }}
	record(t, o, time.Minute, func(s *Sampler) {
		time.Sleep(200 * time.Millisecond)
		s.CheckpointNow()
		<-got
		s.CheckpointNow()
		<-got
		target.signal(t, unix.SIGKILL)
	}, target.pid)
}

func TestSeveralProcesses(t *testing.T) {
	one, two := start(t, "main"), start(t, "sleepers", "2")
	r := record(t, Options{}, 500*time.Millisecond, func(*Sampler) {
		time.Sleep(200 * time.Millisecond)
		one.signal(t, unix.SIGKILL) // the other goes on
	}, one.pid, two.pid)
	for _, target := range []*running{one, two} {
		if r.sumOf(0, func(s *pprof.Sample) bool { return s.NumLabel["pid"][0] == int64(target.pid) }) == 0 {
			t.Errorf("no samples of process %d", target.pid)
		}
	}
	if r.Seconds < 0.4 {
		t.Errorf("ended after %v s", r.Seconds)
	}
}

func TestManyThreadsAreAllLookedAt(t *testing.T) {
	target := start(t, "wakers", "300")
	r := record(t, Options{}, time.Second, nil, target.pid)
	tids := map[int64]bool{}
	for _, s := range r.Sample {
		tids[s.NumLabel["tid"][0]] = true
	}
	if len(tids) != 301 {
		t.Errorf("samples of %d threads; %+v", len(tids), r.Stats)
	}
}

func TestPanicOfThePartsIsAnErrorAndKeepsWhatWasSeen(t *testing.T) {
	for _, part := range []string{"accountant", "controller"} {
		t.Run(part, func(t *testing.T) {
			target := start(t, "mixed", "3")
			o := Options{}
			breakIt := func(s *Sampler) {
				time.Sleep(300 * time.Millisecond)
				s.arrive <- &process{} // without a target
			}
			if part == "accountant" {
				o.Checkpoint = func() { panic("as the test wants it") }
				breakIt = func(s *Sampler) { time.Sleep(300 * time.Millisecond); s.CheckpointNow() }
			}
			r := record(t, o, time.Minute, breakIt, target.pid)
			if r.err == nil || strings.Contains(r.err.Error(), "\n") || !strings.Contains(r.err.Error(), "_test.go:") && !strings.Contains(r.err.Error(), "controller.go:") {
				t.Errorf("error %v", r.err)
			}
			if r.sumOf(0, every) == 0 || r.sumOf(3, in("burn_here")) == 0 {
				t.Error("the recording is empty")
			}
			for i := range 20 {
				if s := state(target.pid); s == "t" || s == "T" {
					t.Fatalf("state %s after %d ms", s, i)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}
