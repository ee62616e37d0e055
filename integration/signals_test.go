// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

func begin(t *testing.T, target *testtargets.Target) (r *recorder, file string) {
	t.Helper()
	r = startRecording(t, nil, "-p", strconv.Itoa(target.PID))
	r.until("the target has the expected samples", hasExpected(target.Expect))
	return r, r.file
}

func checkReleased(t *testing.T, target *testtargets.Target) {
	t.Helper()
	for _, tid := range threadsOf(target.PID) {
		// A thread that has ended since the listing has no status, and so no tracer.
		if tracer := tracerOf(tid); tracer != "0" && tracer != "" {
			t.Errorf("thread %d is still traced by %s", tid, tracer)
		}
		if s := stateOf(tid); s == "T" || s == "t" {
			t.Errorf("thread %d is still in state %s", tid, s)
		}
	}
	before, err := cpuOf(target.PID)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the target runs again", func() bool {
		now, err := cpuOf(target.PID)
		return err == nil && now > before+20*time.Millisecond
	})
}

func TestSignalsEndTheRunWithAWholeRecording(t *testing.T) {
	t.Parallel()
	for _, s := range testtargets.First([]syscall.Signal{syscall.SIGTERM, syscall.SIGINT}) {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			target := testtargets.Run(t, "c", testtargets.Options{})
			r, file := begin(t, target)
			r.signal(s)
			r.wait().must(t, 0)
			checkFunctions(t, readProfile(t, file), target.Expect)
			checkReleased(t, target)
		})
	}
}

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	r, file := begin(t, target)
	r.signal(syscall.SIGINT)
	_ = r.cmd.Process.Signal(syscall.SIGINT)
	r.wait()
	readProfile(t, file)
	checkReleased(t, target)
}

func TestUSR1WritesACheckpointAndTheRecordingContinues(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	r, file := begin(t, target)
	early := readProfile(t, file)
	if len(early.Sample) == 0 {
		t.Error("the checkpoint is empty")
	}
	r.until("a later checkpoint has more CPU time", func(p *profile.Profile) bool {
		return total(p, cpuColumn) > total(early,
			cpuColumn)
	})
	r.signal(syscall.SIGINT)
	r.wait().must(t, 0)
	if late := readProfile(t, file); total(late, cpuColumn) <= total(early, cpuColumn) {
		t.Error("the recording has no more CPU time than the checkpoint")
	}
}

func TestKilledProfilerLeavesTheTargetRunning(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	r, file := begin(t, target)
	r.signal(syscall.SIGKILL)
	r.wait().must(t, 128+int(syscall.SIGKILL))
	readProfile(t, file)
	checkReleased(t, target)
}
