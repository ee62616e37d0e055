// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/account/attribute"
	procs "prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/target"
	"prywalk/internal/watch/tracer"
)

func TestChildrenAreFollowedHoweverTheyWereStarted(t *testing.T) {
	program := start(t, "family")
	names := []string{"by-fork", "by-vfork", "by-clone", "by-spawn", "by-child"}
	told := time.Duration(0)
	r := recordUntil(t, target.SamplingOptions{Children: true}, func(r *recorded) bool {
		for _, name := range names {
			if cpu, _ := burntAs(r, name); cpu == 0 {
				return false
			}
		}
		cpu, _ := burntAs(r, "by-child")
		if told == 0 {
			told = cpu
			program.signal(t, unix.SIGUSR1) // the grandchild's parent ends
		}
		return cpu > told+50*time.Millisecond
	}, program.pid)
	for _, name := range names {
		if cpu, pids := burntAs(r, name); len(pids) != 1 || pids[int64(program.pid)] {
			t.Errorf("%s: %d ns in processes %v", name, cpu, pids)
		}
	}
	if t.Failed() {
		for _, pid := range procs.Children(program.pid) {
			stat, err := os.ReadFile(procs.Path(pid, "stat"))
			t.Logf("child %s %v", stat, err)
		}
		all := map[string]int64{}
		for _, s := range r.Sample {
			all[fmt.Sprint(s.NumLabel["pid"], s.Label["comm"], stack(s))] += s.Value[0]
		}
		t.Logf("%v", all)
	}
}

func burntAs(r *recorded, name string) (cpu time.Duration, pids map[int64]bool) {
	pids = map[int64]bool{}
	cpu = r.sumOf(3, func(s *pprof.Sample) bool {
		if label(s, "comm") != name || !in("burn_here")(s) {
			return false
		}
		pids[s.NumLabel["pid"][0]] = true
		return true
	})
	return cpu, pids
}

func TestThreadThatFollowsUnderTheSameNumberInheritsNothing(t *testing.T) {
	needChoice(t)
	for _, keep := range []bool{true, false} {
		t.Run("kept "+strconv.FormatBool(keep), func(t *testing.T) {
			r := recordFollowing(t, keep)
			if d := r.TargetCPU - r.ProfiledCPU; d < -0.002 || d > 0.002 {
				t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
			}
			wall := map[int64]int64{}
			for _, s := range r.Sample {
				if label(s, "thread") != attribute.ExitedThread {
					wall[s.NumLabel["tid"][0]] += s.Value[1]
				}
			}
			for tid, ns := range wall {
				if float64(ns)/1e9 > r.Seconds+0.02 {
					t.Errorf("thread %d: %v s of %v", tid, float64(ns)/1e9, r.Seconds)
				}
			}
		})
	}
}

// recordFollowing ends each thread once time was recorded under its own stack, which differs from the one before.
func recordFollowing(t *testing.T, keep bool) *recorded {
	t.Helper()
	const n, enough = 8, 50 * time.Millisecond
	program := start(t, "reuse", strconv.Itoa(n))
	if !keep {
		lowerFileLimit(t)
	}
	began, before := 0, map[bool]time.Duration{} // CPU time, ns, by whether it is in burn_there
	r := recordUntil(t, target.SamplingOptions{Freq: 499}, func(r *recorded) bool {
		now := map[bool]time.Duration{true: r.sumOf(3, in("burn_there"))}
		now[false] = r.sumOf(3, in("burn_here")) - now[true]
		there := began%2 == 1
		if now[there] < before[there]+enough {
			return false
		}
		before[!there] = now[!there] // the thread before has ended, and the next one is of its kind
		began++
		program.signal(t, unix.SIGUSR1)
		return began == n
	}, program.pid)
	if !program.lines.Scan() {
		t.Error("the target has ended")
	}
	if same, _ := strconv.Atoi(program.lines.Text()); same < n/2 {
		t.Logf("only %d of %d threads had the number of the one before", same, n)
	}
	program.signal(t, unix.SIGKILL)
	return r
}

func TestNameThatChangesDuringTheRecording(t *testing.T) {
	program := start(t, "renames")
	old := procNames(t, program.pid)
	told := false
	r := recordUntil(t, target.SamplingOptions{}, func(r *recorded) bool {
		all := true
		for _, c := range []struct{ label, before, after string }{{"thread", "first-0", "second-0"},
			{"thread", "threads", "other"}, {"comm", "threads", "other"}} {
			under := func(name string, there bool) time.Duration {
				return r.sumOf(3, func(s *pprof.Sample) bool {
					return label(s, c.label) == name && in("burn_here")(s) && in("burn_there")(s) == there
				})
			}
			if !told {
				all = all && under(c.before, false) > 0
				continue
			}
			// A name is read every second.
			all = all && under(c.after, true) > under(c.before, true)
		}
		if all && !told {
			told = true
			program.signal(t, unix.SIGUSR1)
			await(t, "the new names", func() bool {
				now := procNames(t, program.pid)
				return !slices.Equal(old, now) && !slices.Contains(now, "first-0")
			})
			return false
		}
		return all
	}, program.pid)
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.002 || d > 0.002 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}

func procNames(t *testing.T, pid int) (names []string) {
	t.Helper()
	tids, err := procmem.ListTasks(pid, nil)
	if err != nil {
		t.Error(err)
	}
	for _, tid := range tids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, tid))
		names = append(names, strings.TrimSpace(string(text)))
	}
	return names
}

func needChoice(t *testing.T) {
	t.Helper()
	testtargets.NeedRoot(t, "choose the next process number")
	testtargets.Need(t, unix.Access("/proc/sys/kernel/ns_last_pid", unix.W_OK) == nil, "/proc/sys/kernel/ns_last_pid",
		"a kernel with CONFIG_CHECKPOINT_RESTORE")
}

func TestChildrenOneAfterTheOtherUnderTheSameNumber(t *testing.T) {
	needChoice(t)
	program := start(t, "heirs", "8")
	same := 0
	r := record(t, target.SamplingOptions{Children: true}, time.Minute, func(s *Sampler) {
		if program.lines.Scan() {
			same, _ = strconv.Atoi(program.lines.Text())
		}
		program.signal(t, unix.SIGKILL)
	}, program.pid)
	cpu := map[int64]int64{}
	for _, s := range r.Sample {
		cpu[s.NumLabel["pid"][0]] += s.Value[3]
	}
	most := int64(0)
	for pid, ns := range cpu {
		if pid != int64(program.pid) {
			most = max(most, ns)
		}
	}
	// One child computes for 300 ms.
	if same > 4 && most < 310e6 {
		t.Errorf("%d of 8 children had the number of the one before, but only %d ns are of one number", same, most)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.002 || d > 0.002 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}

func lowerFileLimit(t *testing.T) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if n := testtargets.Descriptors(t); n > tracer.FileReserve/2 {
		t.Fatalf("%d descriptors are open before", n)
	}
	low := unix.Rlimit{Cur: min(old.Cur, tracer.FileReserve), Max: old.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &old) })
}

func TestNewProgramAfterExecIsSeenUnderItsOwnName(t *testing.T) {
	exe, err := testtargets.Compile("threads.c", "-O1", "-g0")
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "threads-after")
	if err := os.Symlink(exe, other); err != nil {
		t.Fatal(err)
	}
	program := start(t, "exec", other)
	before := func(s *pprof.Sample) bool { return in("burn_here")(s) && label(s, "comm") == "threads" }
	after := func(s *pprof.Sample) bool {
		return in("burn_here")(s) && label(s, "comm") == "threads-after" && label(s, "thread") == "burner-0"
	}
	told := false
	r := recordUntil(t, target.SamplingOptions{}, func(r *recorded) bool {
		if !told && r.sumOf(3, before) > 0 {
			told = true
			program.signal(t, unix.SIGUSR1)
		}
		return told && r.sumOf(3, after) > 0
	}, program.pid)
	for _, s := range r.Sample {
		if label(s, "comm") == "threads" && label(s, "thread") == "burner-0" {
			t.Errorf("a thread of the new program in process %s", label(s, "comm"))
		}
	}
}

func TestChildrenAreFollowedAndCountFromTheirStart(t *testing.T) {
	program := start(t, "forks", "60")
	recordUntil(t, target.SamplingOptions{Children: true}, func(r *recorded) bool {
		pids := map[int64]bool{}
		for _, s := range r.Sample {
			pids[s.NumLabel["pid"][0]] = true
		}
		return len(pids) >= 3 && r.sumOf(3, in("burn_here")) > 0
	}, program.pid)
}

func TestChildThatWasThereBeforeCountsFromTheRecordingsStart(t *testing.T) {
	program := start(t, "parent", "1000")
	program.expect(t, "older")
	r := recordUntil(t, target.SamplingOptions{Children: true}, func(r *recorded) bool { return r.sumOf(3, every) > 0 },
		program.pid)
	if r.ProfiledCPU == 0 || r.ProfiledCPU > r.Seconds+0.02 {
		t.Errorf("%v s of CPU by one child in %v s", r.ProfiledCPU, r.Seconds)
	}
}
