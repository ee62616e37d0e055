// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bufio"
	"os/exec"
	"strconv"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
	"prywalk/internal/watch/target"
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

// The program counter and the stack pointer are the same, two return addresses are not. Each thread is in turn below
// left and below right: a stack that is taken for unchanged although it is not never changes.
func TestSleepersInTurnsHaveBothStacks(t *testing.T) {
	const threads = 20
	program := startNaps(t, strconv.Itoa(threads), "25", "turns")
	left, right := asleepBelow("left"), asleepBelow("right")
	recordUntil(t, target.SamplingOptions{}, func(r *recorded) bool {
		both := map[int64][2]bool{}
		for _, s := range r.Sample {
			tid := s.NumLabel["tid"][0]
			both[tid] = [2]bool{both[tid][0] || left(s), both[tid][1] || right(s)}
		}
		n := 0
		for _, b := range both {
			if b[0] && b[1] {
				n++
			}
		}
		return n == threads
	}, program.pid)
}

func TestStoppedSleepersAreStopped(t *testing.T) {
	program := startNaps(t, "10", "25", "same")
	slept, stopped, gone := asleepBelow("left"), false, false
	wasStopped := func(s *pprof.Sample) bool { return label(s, "state") == "stopped" }
	r := recordUntil(t, target.SamplingOptions{}, func(r *recorded) bool {
		switch {
		case !stopped && r.sumOf(1, slept) > 10*500e6:
			program.signal(t, unix.SIGSTOP)
			stopped = true
		case stopped && !gone && r.sumOf(1, wasStopped) > 10*500e6: // in the recording while it lasts
			program.signal(t, unix.SIGCONT)
			gone = true
		}
		return gone
	}, program.pid)
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
