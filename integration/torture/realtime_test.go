// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

var (
	ofProcess = regexp.MustCompile(`^(openat|readlinkat)\(AT_FDCWD, "/proc/\d`)
	ofThread  = regexp.MustCompile(`^openat\(\d+, "(stat|schedstat|status|syscall)"`)
	// The tracer's watchdog has the next higher priority.
	realTime = regexp.MustCompile(`^sched_setattr\(0, .*SCHED_FIFO.*sched_priority=[15]\b.*= 0`)
	ordinary = regexp.MustCompile(`^sched_setattr\(0, .*SCHED_OTHER.*= 0`)
)

// Opening a path of a process that ends can spin for as long as a real-time thread keeps the processor.
func TestRealTimeTracerOpensNoPathBelowProc(t *testing.T) {
	strace := testtargets.NeedProgram(t, "strace")
	testtargets.NeedRoot(t, "have a real-time priority")
	for _, engine := range []string{"auto", "ptrace"} {
		t.Run(engine, func(t *testing.T) {
			p := start(t, "forks")
			log := filepath.Join(t.TempDir(), "calls")
			cmd := exec.Command(strace, "-f", "-qq", "-o", log, "-e", "trace=openat,readlinkat,sched_setattr", binary,
				"record", "--engine", engine, "--children", "-p", strconv.Itoa(p.pid), "-d", "2",
				"-o", filepath.Join(t.TempDir(), "r.pb.gz"))
			if out, err := bounded.AllOutput(cmd); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			p.finish()
			calls, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			checkWalks(t, string(calls))
		})
	}
}

func checkWalks(t *testing.T, calls string) {
	t.Helper()
	tracer, raised, held, elsewhere := "", false, 0, 0
	begun := map[string]string{}
	for line := range strings.Lines(calls) {
		tid, call, _ := strings.Cut(line, " ")
		call = strings.TrimSpace(call)
		// strace splits a call's line if another thread's call comes between.
		if rest, ok := strings.CutPrefix(call, "<... sched_setattr resumed>"); ok {
			call = begun[tid] + rest
		} else if before, ok := strings.CutSuffix(call, " <unfinished ...>"); ok {
			begun[tid] = before
		}
		switch {
		case realTime.MatchString(call):
			tracer, raised = tid, true
		case tid == tracer && ordinary.MatchString(call):
			raised = false
		case tid == tracer && raised && ofProcess.MatchString(call):
			t.Errorf("the tracer's thread opens a path below /proc/PID at real-time priority: %s", call)
		case tid == tracer && ofThread.MatchString(call):
			held++
		case raised && ofProcess.MatchString(call):
			elsewhere++
		}
	}
	testtargets.Need(t, tracer != "", "real-time priorities", "a container that allows them (CAP_SYS_NICE)")
	if held == 0 || elsewhere == 0 {
		t.Errorf("the tracer opened %d files relative to open directories, other threads %d by path, want both", held,
			elsewhere)
	}
}
