package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

// shell runs a script until the test ends.
func shell(t *testing.T, script string) int {
	t.Helper()
	cmd := exec.Command("timeout", "60", "sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	pid := 0
	eventually(t, "the shell runs", func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
		_, err := fmt.Sscan(string(text), &pid)
		return err == nil && stateOf(pid) != ""
	})
	return pid
}

func TestTargetThatExecs(t *testing.T) {
	target := testtargets.Run(t, "c", testtargets.Options{}) // for its program file
	pid := shell(t, "sleep 1; exec "+target.Exe+" 30")
	r := record(t, "-d", "4", "-p", strconv.Itoa(pid))
	checkAccounting(t, r.stats)
	checkFunctions(t, r.Profile, testtargets.Expect{Chains: [][]string{{"burn_60", "with_saved_registers", "run_load", "main"}}})
}

func TestTargetThatForks(t *testing.T) {
	pid := shell(t, "while :; do (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done); done")
	r := record(t, "-d", "3", "--children", "-p", strconv.Itoa(pid))
	checkAccounting(t, r.stats)
	pids := map[int64]bool{}
	for _, s := range r.Sample {
		pids[s.NumLabel["pid"][0]] = true
	}
	if len(pids) < 3 {
		t.Errorf("samples of %d processes", len(pids))
	}
}

func TestTargetThatIsStopped(t *testing.T) {
	target := testtargets.Run(t, "c", testtargets.Options{})
	r := during(t, 3, target.PID, func() { kill(t, target.PID, syscall.SIGSTOP) })
	if s := stateOf(target.PID); s != "T" {
		t.Errorf("the stopped process is in state %q now", s)
	}
	checkAccounting(t, r.stats)
	stopped := slices.ContainsFunc(r.Sample, func(s *profile.Sample) bool { return label(s, "state") == "stopped" })
	if !stopped {
		t.Error("no sample in state stopped")
	}
}

func TestTargetThatIsKilled(t *testing.T) {
	target := testtargets.Run(t, "c", testtargets.Options{})
	r := during(t, 30, target.PID, func() { kill(t, target.PID, syscall.SIGKILL) })
	checkAccounting(t, r.stats)
	checkFunctions(t, r.Profile, testtargets.Expect{Hot: []string{"burn_60"}})
	if r.stats.DurationS > 20 {
		t.Errorf("the recording went on for %v s", r.stats.DurationS)
	}
}

func TestTargetThatExits(t *testing.T) {
	target := testtargets.Run(t, "go", testtargets.Options{Limit: 3 * time.Second})
	r := record(t, "-p", strconv.Itoa(target.PID))
	checkAccounting(t, r.stats)
	checkFunctions(t, r.Profile, testtargets.Expect{Hot: []string{"main.burn60"}})
}

func TestBinaryDeletedOrReplacedWhileItRuns(t *testing.T) {
	for name, harm := range map[string]func(file string) error{
		"deleted": os.Remove,
		"replaced": func(file string) error {
			if err := os.WriteFile(file+".new", []byte("#!/bin/sh\n"), 0o755); err != nil {
				return err
			}
			return os.Rename(file+".new", file)
		},
	} {
		t.Run(name, func(t *testing.T) {
			target := testtargets.Run(t, "c", testtargets.Options{})
			r := during(t, 3, target.PID, func() {
				if err := harm(target.Exe); err != nil {
					t.Error(err)
				}
			})
			checkFunctions(t, r.Profile, target.Expect)
			checkCompleteness(t, r, target.Expect.CompleteFloor)
		})
	}
}

func TestThreadsBornAndGone(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(scratch(t, nil), "threads.py")
	text := "import threading, time\nwhile True:\n" +
		"    t = threading.Thread(target=lambda: sum(range(200000)))\n    t.start()\n    t.join()\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	pid := shell(t, "exec "+python+" "+file)
	m := startMeter([]int{pid})
	r := record(t, "-d", "3", "-p", strconv.Itoa(pid))
	m.finish()
	checkAccounting(t, r.stats)
	// The time of threads that were never seen is the process's, not lost.
	checkTotals(t, r, m)
}

func TestSeveralProcessesAtOnce(t *testing.T) {
	one, two := testtargets.Run(t, "c", testtargets.Options{}), testtargets.Run(t, "go", testtargets.Options{})
	r := record(t, "-d", "2", "-p", strconv.Itoa(one.PID), "-p", strconv.Itoa(two.PID))
	checkFunctions(t, r.Profile, testtargets.Expect{Hot: []string{"burn_60", "main.burn60"}})
}
