// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bufio"
	"os/exec"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
)

func startNaps(t *testing.T, args ...string) *running {
	t.Helper()
	exe, err := testtargets.Compile("naps.c", "-O2")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	_, says := testtargets.Talk(t, cmd)
	r := &running{pid: cmd.Process.Pid, lines: bufio.NewScanner(says)}
	r.expect(t, "ready")
	return r
}

func asleepBelow(function string) func(*pprof.Sample) bool {
	below := in(function)
	return func(s *pprof.Sample) bool { return label(s, "state") == "sleeping" && below(s) }
}

// The program counter and the stack pointer are the same, two return addresses are not.
func TestSleepersInTurnsHaveBothStacks(t *testing.T) {
	target := startNaps(t, "20", "25", "turns")
	r := record(t, Options{}, 3*time.Second, nil, target.pid)
	left, right := r.sumOf(0, asleepBelow("left")), r.sumOf(0, asleepBelow("right"))
	t.Logf("%d left, %d right", left, right)
	if min(left, right) < (left+right)*2/5 {
		t.Errorf("%d samples below left, %d below right, of which each has half of the time", left, right)
	}
}

func TestStoppedSleepersAreStopped(t *testing.T) {
	target := startNaps(t, "10", "25", "same")
	slept, stopped, gone := asleepBelow("left"), false, false
	wasStopped := func(s *pprof.Sample) bool { return label(s, "state") == "stopped" }
	r := recordUntil(t, Options{}, func(r *recorded) bool {
		switch {
		case !stopped && r.sumOf(1, slept) > 10*500e6:
			target.signal(t, unix.SIGSTOP)
			stopped = true
		case stopped && !gone && r.sumOf(1, wasStopped) > 10*500e6: // in the recording while it lasts
			target.signal(t, unix.SIGCONT)
			gone = true
		}
		return gone
	}, target.pid)
	// All except the first thread, which waits for input.
	each := map[int64]int64{}
	for _, s := range r.Sample {
		if wasStopped(s) {
			each[s.NumLabel["tid"][0]] += s.Value[1]
		}
	}
	for tid, ns := range each {
		if ns < 100e6 {
			t.Errorf("thread %d: %v stopped, of half a second", tid, time.Duration(ns))
		}
	}
	if len(each) < 10 {
		t.Errorf("%d of 10 threads were stopped", len(each))
	}
}
