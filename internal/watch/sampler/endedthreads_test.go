// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/account/attribute"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

func exited(s *pprof.Sample) bool { return stack(s)[0] == attribute.ExitedUnseen }

func TestNoExitIsUnobservedWhereNoThreadExited(t *testing.T) {
	program := start(t, "burners", "8")
	r := record(t, target.SamplingOptions{}, 2*time.Second, nil, program.pid)
	if r.ExitedUnseenCPU != 0 || r.count(exited) != 0 {
		t.Errorf("%v s of threads that have ended, of %v s", r.ExitedUnseenCPU, r.ProfiledCPU)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%v s by the threads' clocks, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	r.checkWalls(t)
}

func (r *recorded) checkWalls(t *testing.T) {
	t.Helper()
	for tid, ns := range r.walls() {
		if float64(ns)/1e9 > r.Seconds {
			t.Errorf("thread %d: %v s of %v", tid, float64(ns)/1e9, r.Seconds)
		}
	}
}

func TestThreadsThatExitedUnseenAreNoOtherThread(t *testing.T) {
	program := start(t, "churn")
	before, _ := procmem.ProcessCPU(program.pid)
	estimated := func(s *pprof.Sample) bool { return label(s, "thread") == attribute.ExitedThread && !exited(s) }
	r := recordUntil(t, target.SamplingOptions{}, func(r *recorded) bool {
		return r.Seconds > 1.5 && r.sumOf(3, estimated) > 0
	}, program.pid)
	after, _ := procmem.ProcessCPU(program.pid)
	sum, distributed := r.sumOf(3, exited), r.sumOf(3, estimated)
	if distributed == 0 || float64(distributed)/1e9 > r.EstimatedCPU+1e-6 || float64(sum)/1e9 > r.ExitedUnseenCPU+1e-6 ||
		r.ProfiledCPU > float64(after-before)/1e9 {
		t.Errorf("%d ns exited unseen, %v s by the accounts, %v s in all of %v", sum, r.ExitedUnseenCPU, r.ProfiledCPU,
			float64(after-before)/1e9)
	}
	for _, s := range r.Sample {
		if label(s, "thread") == "" || exited(s) && label(s, "thread") != attribute.ExitedThread {
			t.Errorf("%v", s.Label)
		}
		if label(s, "thread") == attribute.ExitedThread && (len(s.NumLabel["tid"]) != 0 ||
			s.NumLabel["pid"][0] != int64(program.pid)) {
			t.Errorf("%v %v", s.Label, s.NumLabel)
		}
	}
	r.checkWalls(t)
}

func TestThreadThatCannotBeSampledKeepsItsTime(t *testing.T) {
	program := start(t, "burners", "2")
	r := record(t, target.SamplingOptions{Mode: observe.ModePassiveOnly}, time.Second, nil, program.pid)
	left := r.sumOf(3, func(s *pprof.Sample) bool {
		return stack(s)[0] == attribute.NotObserved && label(s, "thread") != "threads"
	})
	if left == 0 || r.ExitedUnseenCPU != 0 || r.UnobservedCPU < float64(left)/1e9 {
		t.Errorf("%d ns not observed, %v s by the accounts, %v s exited unseen", left, r.UnobservedCPU, r.ExitedUnseenCPU)
	}
	r.checkWalls(t)
}

func TestThreadsThatHaveEndedAreInTheRecordingSoFar(t *testing.T) {
	program := start(t, "churn")
	estimated := func(s *pprof.Sample) bool { return label(s, "thread") == attribute.ExitedThread && !exited(s) }
	soFar := time.Duration(0)
	r := recordUntil(t, target.SamplingOptions{}, func(r *recorded) bool {
		soFar = r.sumOf(3, estimated)
		return soFar > 0
	}, program.pid)
	if all := r.sumOf(3, estimated); soFar == 0 || all < soFar || float64(all)/1e9 > r.EstimatedCPU+1e-6 {
		t.Errorf("%d ns so far, %d in the end, %v s by the accounts", soFar, all, r.EstimatedCPU)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%v s by the threads' clocks, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	r.checkWalls(t)
}
