// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/procmem"
	"prywalk/internal/testtargets"
)

// pauses is how often prywalk is stopped, for pauseFor each time.
const (
	pauses   = 3
	pauseFor = time.Second
)

// TestAPauseOfTheProfilerIsNotAttributed: stopped for three seconds of its recording, it says that it saw nothing
// then, and the shares of what it saw are the program's. (By chance one is off by as much as five standard errors once
// in a million runs.)
func TestAPauseOfTheProfilerIsNotAttributed(t *testing.T) {
	target := testtargets.Run(t, "c", testtargets.Options{})
	shares := map[string]float64{"burn_60": 0.6, "burn_30": 0.3, "burn_10": 0.1}
	r := startRecording(t, nil, "-p", pidList([]int{target.PID}))
	unseen, looks := int64(0), int64(fewSamples)
	enough := func(p *profile.Profile) bool { return computing(p) >= looks }
	for range pauses {
		r.until("some looks have been made", enough)
		r.signal(syscall.SIGSTOP)
		eventually(t, "prywalk is stopped", func() bool { return stateOf(r.cmd.Process.Pid) == "T" })
		before, err := procmem.ProcessCPU(target.PID)
		time.Sleep(pauseFor)
		after, err2 := procmem.ProcessCPU(target.PID)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		unseen += int64(after - before)
		r.signal(syscall.SIGCONT)
		looks += fewSamples
	}
	r.until("some looks have been made after the last pause", enough)
	rec := r.finish()
	checkAccounting(t, rec.stats)
	checkPause(t, rec, unseen)
	checkShares(t, rec.Profile, shares)
	if _, _, count := timesOf(rec.Profile, shares); count < fewShared {
		t.Errorf("the shares are as good as those of %.0f samples", count)
	}
}

// checkPause holds that what passed in the pauses is shown as not observed, and that no thread has more time than
// there was.
func checkPause(t *testing.T, rec *recording, unseen int64) {
	t.Helper()
	if rec.stats.NotObservedS < pauses*pauseFor.Seconds()/2 || rec.stats.NotObservedS > rec.stats.DurationS {
		t.Errorf("%v s not observed of %v s", rec.stats.NotObservedS, rec.stats.DurationS)
	}
	const says = " s not observed (prywalk was stopped"
	if !strings.Contains(rec.stderr, says) || !strings.Contains(strings.Join(rec.Comments, "\n"), says) {
		t.Errorf("neither the closing line nor the recording says so: %s\n%s", rec.stderr, rec.Comments)
	}
	var cpu int64
	walls, queued := map[int64]int64{}, map[int64]int64{}
	for _, s := range rec.Sample {
		if stackOf(s)[0] == "[not observed]" {
			cpu += s.Value[cpuColumn]
		}
		for _, tid := range s.NumLabel["tid"] {
			walls[tid] += s.Value[wallColumn]
			queued[tid] += s.Value[queueColumn]
		}
	}
	if cpu < unseen/2 {
		t.Errorf("%d ns of the %d that passed unseen are shown so", cpu, unseen)
	}
	// The kernel charges a wait for a processor when it ends. A wait that lasts at the end of a pause is part of the time
	// that was not observed, and is there once more as queue time.
	for tid, ns := range walls {
		if float64(ns-queued[tid])/1e9 > rec.stats.DurationS {
			t.Errorf("thread %d: %v s of %v, %v s of them queued", tid, float64(ns)/1e9, rec.stats.DurationS,
				float64(queued[tid])/1e9)
		}
	}
}
