// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/observed"
)

func threadSafe(t *testing.T) map[string]string {
	t.Helper()
	configs, _ := filepath.Glob(releases + "/*/bin/php-config")
	programs := map[string]string{}
	for _, config := range configs {
		dir := filepath.Dir(filepath.Dir(config))
		if _, err := os.Stat(filepath.Join(dir, "lib/libphp.so")); err != nil {
			continue
		}
		out, err := bounded.Output(exec.Command(config, "--includes"))
		if err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(t.TempDir(), "threads")
		arguments := append([]string{"-O2", "-w", "-pthread", "-o", program, "testdata/threads.c"},
			strings.Fields(string(out))...)
		cmd := exec.Command("cc", append(arguments, "-L"+dir+"/lib", "-lphp", "-Wl,-rpath,"+dir+"/lib")...)
		if text, err := bounded.AllOutput(cmd); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		programs[filepath.Base(dir)] = program
	}
	testtargets.Need(t, len(programs) > 0, "a thread-safe release of PHP",
		"sudo sh scripts/setup-phps.sh "+releases+" 8.2-zts")
	return programs
}

type threads struct {
	pid    int
	number map[int]int
	calls  map[int][]string
}

const maxNumbers = 8

func startThreads(t *testing.T, program, pause string) *threads {
	t.Helper()
	script, err := filepath.Abs("testdata/sleepers.php")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(program, script, dir, strconv.Itoa(maxNumbers), pause)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { testtargets.Kill(cmd) })
	th := &threads{pid: cmd.Process.Pid, number: map[int]int{}, calls: map[int][]string{}}
	for i := range maxNumbers {
		name := filepath.Join(dir, strconv.Itoa(i))
		var text []byte
		testtargets.Eventually(t, "each thread sleeps", func() bool {
			text, err = os.ReadFile(name)
			return err == nil
		})
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		tid, err := strconv.Atoi(lines[0])
		if err != nil {
			t.Fatal(err)
		}
		th.number[tid], th.calls[tid] = i, lines[1:]
	}
	return th
}

func TestSleepingThreadsHaveTheTracebackOfPHP(t *testing.T) {
	for release, program := range threadSafe(t) {
		t.Run(release, func(t *testing.T) {
			th := startThreads(t, program, "600000000")
			for tid := range th.number {
				testtargets.Eventually(t, "a thread sleeps", func() bool { return isAsleep(th.pid, tid) })
			}
			for _, how := range []string{"dump", "atomic", "core"} {
				n, seen := 0, 0
				for _, stack := range allThreads(t, how, th.pid) {
					list, want := managedFrames(&stack), th.calls[stack.TID]
					if want == nil {
						if len(list) != 0 {
							t.Errorf("%s: a thread without PHP:\n%s", how, text(&stack))
						}
						continue
					}
					seen++
					n += len(list)
					if how == "dump" && stack.How != "passive" {
						t.Errorf("a sleeper was stopped: %s", stack.How)
					}
					if len(list) < 2 {
						t.Errorf("%s: %d frames\n%s", how, len(list), text(&stack))
					} else if got := asPHP(list); !slices.Equal(got, want) {
						t.Errorf("%s:\n%s\nPHP:\n%s", how, strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
				}
				if seen != maxNumbers {
					t.Errorf("%s: %d threads", how, seen)
				}
				t.Logf("%s: %d threads, %d frames", how, seen, n)
			}
		})
	}
}

func isAsleep(pid, tid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	return err == nil && strings.HasPrefix(string(b), "230 ")
}

func allThreads(t *testing.T, how string, pid int) []stacks.Thread {
	t.Helper()
	if how == "core" {
		return observed.DumpCore(t, pid).Threads
	}
	return observed.Dump(t, pid, dump.Options{Atomic: how == "atomic"}).Threads
}

var numbered = regexp.MustCompile(`^t(\d+)_(\d+)$`)

func wrongInThread(list []*stacks.Frame, number int) string {
	name := func(i int) string {
		if i >= len(list) {
			return ""
		}
		return list[i].Function
	}
	at := func(depth int) string { return fmt.Sprintf("t%d_%d", number, depth) }
	for i := range list {
		n, caller := name(i), name(i+1)
		var ok bool
		switch m := numbered.FindStringSubmatch(n); {
		case n == "[freed]" || caller == "[freed]":
			ok = true
		case m != nil:
			depth, _ := strconv.Atoi(m[2])
			switch {
			case depth == 0:
				ok = caller == "sleepers.php"
			case depth%2 == 0:
				ok = caller == "array_map" && name(i+2) == at(depth-1)
			default:
				ok = caller == at(depth-1)
			}
			ok = ok && m[1] == strconv.Itoa(number)
		case n == "sleepers.php":
			ok = caller == ""
		case n == "rests":
			ok = numbered.MatchString(caller)
		case n == "works":
			ok = numbered.MatchString(caller) || caller == "rests"
		default:
			ok = numbered.MatchString(caller) || caller == "rests" || caller == "works"
		}
		if !ok {
			return fmt.Sprintf("thread %d: %s is called by %q", number, n, caller)
		}
	}
	return ""
}

// recordThreads returns what the samples of sleeping and of running threads have, from the first quarter's end on.
func recordThreads(t *testing.T, program string) map[string]*tally {
	t.Helper()
	th := startThreads(t, program, "3000")
	prof := record(t, th.pid, 400)
	later := map[*pprof.Sample]bool{}
	for _, s := range settled(prof) {
		later[s] = true
	}
	all := map[string]*tally{"sleeping": {}, "running": {}}
	for _, s := range prof.Sample {
		number, ok := th.number[int(s.NumLabel[rec.LabelTID][0])]
		if !ok {
			continue
		}
		c, list := all["running"], ofSample(s)
		if s.Label[rec.LabelState][0] == "sleeping" {
			c = all["sleeping"]
		}
		c.frames += s.Value[0] * int64(len(list))
		if s.Value[0] > 0 && later[s] {
			c.observations++
			if len(list) == 0 {
				c.lacking++
			}
		}
		if w := wrongInThread(list, number); w != "" {
			t.Error(w)
		}
	}
	for state, c := range all {
		t.Logf("%s: %+v", state, *c)
	}
	return all
}

func TestRecordingsOfThreadsHaveTheCallsOfEach(t *testing.T) {
	for release, program := range threadSafe(t) {
		t.Run(release, func(t *testing.T) {
			for state, c := range recordThreads(t, program) {
				if c.frames == 0 {
					t.Errorf("no %s sample has frames", state)
				}
			}
		})
	}
}

// A thread sleeps for 3 ms and computes between: each observation is of another sleep, or of another moment.
func TestStatisticalFewSamplesOfThreadsLackCalls(t *testing.T) {
	programs := threadSafe(t)
	for release, program := range programs {
		t.Run(release, func(t *testing.T) {
			for state, c := range recordThreads(t, program) {
				testtargets.AtMost(t, state+" observations have no frames", c.lacking, c.observations, 1./20, 2*len(programs))
			}
		})
	}
}
