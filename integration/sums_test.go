// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

// Between two stops of all threads of a program, its recording has the kernel's CPU time, however the machine
// schedules: what has no sample is in [not observed] and the like. The first and the last observation are while
// the threads are stopped. A thread in state T can still be on its way out of the processor (do_signal_stop in the
// kernel's signal.c): the test reads the clocks at the begin and at the end of each stop, and the recording's time
// lies between.
func TestSumsOfCPUTimeAreTheKernels(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"c", "go", "python", "node", "java", "rust"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "go" || name == "node" || name == "java" || name == "rust" {
				testtargets.OnlyInAll(t, "more languages, whose clocks are the same")
			}
			target := testtargets.Run(t, name, testtargets.Options{})
			checkSums(t, target.PID)
		})
	}
	t.Run("short-lived threads", func(t *testing.T) {
		t.Parallel()
		python := testtargets.NeedProgram(t, "python3")
		file := filepath.Join(scratch(t, nil), "threads.py")
		text := "import threading, time\nwhile True:\n" +
			"    t = threading.Thread(target=lambda: sum(range(200000)))\n    t.start()\n    t.join()\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		checkSums(t, shell(t, "exec "+python+" '"+file+"'"))
	})
}

func checkSums(t *testing.T, pid int) {
	t.Helper()
	first := stopAll(t, pid)
	r := startRecording(t, nil, "-p", strconv.Itoa(pid))
	r.until("the stopped threads have samples", func(p *profile.Profile) bool { return len(p.Sample) > 0 })
	begun := processCPU(t, pid)
	kill(t, pid, syscall.SIGCONT)
	eventually(t, "the program has used half a second of CPU time", func() bool {
		now, err := cpuOf(pid)
		return err == nil && now > begun+500*time.Millisecond
	})
	least := stopAll(t, pid) - begun
	rec := r.finish()
	most := processCPU(t, pid) - first
	kill(t, pid, syscall.SIGCONT)
	checkAccounting(t, rec.stats)
	sum := time.Duration(total(rec.Profile, cpuColumn))
	if sum < least || sum > most {
		t.Errorf("the recording has %v of CPU time, want %v to %v, as the kernel", sum, least, most)
	}
	for what, got := range map[string]float64{"cpu_target_s": rec.stats.CPUTargetS,
		"cpu_profiled_s": rec.stats.CPUProfiledS} {
		if d := time.Duration(got*1e9) - sum; d.Abs() > time.Microsecond { // rounded when it is written
			t.Errorf("%s is %v, want %v", what, got, sum)
		}
	}
	parts := map[int64][2]int64{}
	for _, s := range rec.Sample {
		for _, tid := range s.NumLabel["tid"] {
			n := parts[tid]
			parts[tid] = [2]int64{n[0] + s.Value[wallColumn], n[1] + s.Value[cpuColumn] + s.Value[queueColumn]}
		}
	}
	for tid, n := range parts {
		if n[1] > n[0] {
			t.Errorf("thread %d has %v on CPUs and in the run queue, more than its wall time %v", tid, time.Duration(n[1]),
				time.Duration(n[0]))
		}
	}
}

// stopAll stops a process, and returns its CPU time.
func stopAll(t *testing.T, pid int) time.Duration {
	t.Helper()
	kill(t, pid, syscall.SIGSTOP)
	eventually(t, "every thread is stopped", func() bool { return allStopped(t, pid) })
	return processCPU(t, pid)
}

func processCPU(t *testing.T, pid int) time.Duration {
	t.Helper()
	used, err := cpuOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	return used
}
