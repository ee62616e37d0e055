package sampler

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

func every(*pprof.Sample) bool { return true }

// burnt waits for so many intervals at whose end a thread was on a processor in burn_here.
func burnt(n int) func(*recorded) bool {
	return func(r *recorded) bool {
		return r.count(func(s *pprof.Sample) bool { return s.Value[3] > 0 && in("burn_here")(s) }) >= n
	}
}

// allAsleep waits until every thread of a process sleeps, and has done so for a moment:
// the program is ready before its last call is reached.
func allAsleep(t *testing.T, pid int) {
	t.Helper()
	for still, end := 0, time.Now().Add(patience); still < 20; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("its threads do not fall asleep")
		}
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
	r := recordUntil(t, Options{Freq: 199}, burnt(50), target.pid)
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
	r := recordUntil(t, Options{}, eachFor(5, 1.1), target.pid)
	wall := r.walls()
	if len(wall) != 5 || len(r.Rates) != 5 {
		t.Errorf("%d threads, %d rates", len(wall), len(r.Rates))
	}
	for _, th := range r.Rates { // from its first look to its last
		if d := time.Duration(wall[int64(th.TID)]).Seconds(); d > r.Seconds || d < th.Seconds-5*r.period.Seconds() {
			t.Errorf("thread %d: %v s of %v, of %v in all", th.TID, d, th.Seconds, r.Seconds)
		}
	}
}

// walls gives the wall time of each thread, in nanoseconds.
func (r *recorded) walls() map[int64]int64 {
	wall := map[int64]int64{}
	for _, s := range r.Sample {
		if stack(s)[0] != ExitedUnseen { // that is the process's, beyond the last looks at its threads
			wall[s.NumLabel["tid"][0]] += s.Value[1]
		}
	}
	return wall
}

// eachFor waits until so many threads have been observed for so long, in seconds.
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
	target := start(t, "ends")
	r := record(t, Options{}, patience, func(s *Sampler) {
		frozen(t, s, 5)
		target.signal(t, unix.SIGUSR1)
	}, target.pid)
	if r.Seconds > 0.9*patience.Seconds() || r.ProfiledCPU == 0 {
		t.Errorf("%v s, %v s of CPU", r.Seconds, r.ProfiledCPU)
	}
}

func TestKilledProcessEndsTheRun(t *testing.T) {
	target := start(t, "mixed", "5")
	r := record(t, Options{}, patience, func(s *Sampler) {
		frozen(t, s, 5)
		target.signal(t, unix.SIGKILL)
	}, target.pid)
	if r.Seconds > 0.9*patience.Seconds() || r.sumOf(3, in("burn_here")) == 0 {
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
				await(t, "all threads are stopped", func() bool {
					tids, err := procmem.ListTasks(target.pid, nil)
					return err == nil && !slices.ContainsFunc(tids, func(tid int) bool { return state(tid) != "T" })
				})
				stop = nil
			}
			stopped := func(s *pprof.Sample) bool { return label(s, "state") == "stopped" && label(s, "wait") == "stopped" }
			r := recordDuring(t, Options{}, func(r *recorded) bool {
				n := r.sumOf(0, stopped)
				return n > 200 && n > r.sumOf(0, every)/4
			}, stop, target.pid)
			// It goes back into its stop by itself, when it gets a processor.
			await(t, "stopped afterwards", func() bool { return state(target.pid) == "T" })
			n := r.sumOf(0, stopped)
			if n < r.Samples/4 {
				t.Errorf("%d of %d samples stopped", n, r.Samples)
			}
			if when == "before" && (r.Frozen > 4*5 || r.Reused < r.Frozen || n != r.Samples) {
				t.Errorf("%d of %d stopped; %d frozen, %d reused", n, r.Samples, r.Frozen, r.Reused)
			}
			target.signal(t, unix.SIGCONT)
			cpu, _ := procmem.ProcessCPU(target.pid)
			await(t, "it runs on", func() bool { now, _ := procmem.ProcessCPU(target.pid); return now > cpu+5e6 })
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
	// The old one burns in its first thread, the new one in a second.
	before := func(s *pprof.Sample) bool { return in("burn_here")(s) && label(s, "comm") == "threads" }
	after := func(s *pprof.Sample) bool {
		return in("burn_here")(s) && label(s, "comm") == "threads-after" && label(s, "thread") == "burner-0"
	}
	told := false
	r := recordUntil(t, Options{}, func(r *recorded) bool {
		if !told && r.sumOf(3, before) > 0 {
			told = true
			target.signal(t, unix.SIGUSR1)
		}
		return told && r.sumOf(3, after) > 0
	}, target.pid)
	for _, s := range r.Sample {
		if label(s, "comm") == "threads" && label(s, "thread") == "burner-0" {
			t.Errorf("a thread of the new program in process %s", label(s, "comm"))
		}
	}
}

func TestChildrenAreFollowedAndCountFromTheirStart(t *testing.T) {
	target := start(t, "forks", "60")
	recordUntil(t, Options{Children: true}, func(r *recorded) bool {
		pids := map[int64]bool{}
		for _, s := range r.Sample {
			pids[s.NumLabel["pid"][0]] = true
		}
		return len(pids) >= 3 && r.sumOf(3, in("burn_here")) > 0
	}, target.pid)
}

// TestChildThatWasThereBeforeCountsFromTheRecordingsStart: what it used before
// is not the recording's.
func TestChildThatWasThereBeforeCountsFromTheRecordingsStart(t *testing.T) {
	target := start(t, "parent", "1000")
	target.expect(t, "older")
	r := recordUntil(t, Options{Children: true}, func(r *recorded) bool { return r.sumOf(3, every) > 0 }, target.pid)
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
	late := func(r *recorded) bool {
		seen := map[string]bool{}
		for _, s := range r.Sample {
			seen[label(s, "thread")] = true
		}
		return seen["late-0"] && seen["late-1"] && seen["late-2"] && seen["late-3"]
	}
	recordUntil(t, Options{}, late, target.pid)
	target = start(t, "late", "4")
	r := recordUntil(t, Options{Threads: regexp.MustCompile("^late-")}, late, target.pid)
	if r.ThreadsMax != 4 {
		t.Errorf("%d threads were selected", r.ThreadsMax)
	}
}

func TestProcessWithoutItsFirstThread(t *testing.T) {
	target := start(t, "leaderless")
	r := recordUntil(t, Options{}, burnt(5), target.pid)
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
	r := recordUntil(t, Options{MaxDepth: 2 * depth}, func(r *recorded) bool {
		seen := map[string]int{}
		for _, s := range r.Sample {
			if len(s.Location) > depth {
				seen[label(s, "thread")]++
			}
		}
		return seen["deep-s-0"] >= 2 && seen["deep-b-0"] >= 20
	}, target.pid)
	for _, thread := range []string{"deep-s-0", "deep-b-0"} {
		firstWhole, lastCut := int64(math.MaxInt64), int64(0)
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
			end := s.NumLabel["end_timestamp_ns"][0]
			switch last := frames[len(frames)-1]; {
			case last == "[incomplete: stack-cut]":
				lastCut = max(lastCut, end)
			case calls != depth:
				t.Errorf("%s: %d calls of %d in %d frames, then %s", thread, calls, depth, len(frames), last)
			default:
				firstWhole = min(firstWhole, end)
			}
		}
		if firstWhole == math.MaxInt64 || lastCut >= firstWhole {
			t.Errorf("%s: the first that is whole ends at %d, the last that is cut at %d", thread, firstWhole, lastCut)
		}
	}
}

func TestReadOnlyRestartsNothing(t *testing.T) {
	target := start(t, "mixed", "5")
	if r := recordUntil(t, Options{ReadOnly: true}, burnt(5), target.pid); r.Restarted != 0 || r.Frozen == 0 {
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
	if r := recordUntil(t, Options{MaxPause: time.Minute}, burnt(5), target.pid); r.Frozen == 0 || r.Failed["max-pause"] != 0 {
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
	o := Options{Checkpoint: func(func()) { got <- struct{}{} }}
	record(t, o, patience, func(s *Sampler) {
		frozen(t, s, 1)
		s.CheckpointNow()
		<-got
		s.CheckpointNow()
		<-got
		target.signal(t, unix.SIGKILL)
	}, target.pid)
}

func TestSeveralProcesses(t *testing.T) {
	one, two := start(t, "main"), start(t, "sleepers", "2")
	r := record(t, Options{}, 500*time.Millisecond, func(s *Sampler) {
		frozen(t, s, 2)
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
	recordUntil(t, Options{}, func(r *recorded) bool { return len(r.walls()) == 301 }, target.pid)
}

func TestPanicOfThePartsIsAnErrorAndKeepsWhatWasSeen(t *testing.T) {
	for _, part := range []string{"accountant", "controller"} {
		t.Run(part, func(t *testing.T) {
			target := start(t, "mixed", "3")
			o := Options{}
			breakIt := func(s *Sampler) {
				frozen(t, s, 5)
				s.arrive <- &process{} // without a target
			}
			if part == "accountant" {
				o.Checkpoint = func(func()) { panic("as the test wants it") }
				breakIt = func(s *Sampler) { frozen(t, s, 5); s.CheckpointNow() }
			}
			r := record(t, o, patience, breakIt, target.pid)
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

// TestARecordingHasOneTickHoweverSoonItEnds: before the first, here.
func TestARecordingHasOneTickHoweverSoonItEnds(t *testing.T) {
	target := start(t, "sleepers", "5")
	allAsleep(t, target.pid)
	r := record(t, Options{}, 0, nil, target.pid)
	if r.Peeked < 6 || r.Samples < 6 || r.ThreadsMax != 6 {
		t.Errorf("%+v", r.Stats)
	}
	if r.Begun.Before(r.begun) || r.Begun.After(r.ended) {
		t.Errorf("began at %v, between %v and %v", r.Begun, r.begun, r.ended)
	}
}
