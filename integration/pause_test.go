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

const (
	pauses   = 3
	pauseFor = time.Second
)

// Chance exceeds five standard errors once in a million runs.
func TestTimeOfAStoppedProfilerIsNotObserved(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	shares := map[string]float64{"burn_60": 0.6, "burn_30": 0.3, "burn_10": 0.1}
	r := startRecording(t, nil, "-p", pidList([]int{target.PID}))
	pausedCPU, enoughSamples := int64(0), int64(fewSamples)
	enough := func(p *profile.Profile) bool { return computing(p) >= enoughSamples }
	for range pauses {
		r.until("there are enough samples", enough)
		r.signal(syscall.SIGSTOP)
		eventually(t, "prywalk is stopped", func() bool { return stateOf(r.cmd.Process.Pid) == "T" })
		before, err := procmem.ProcessCPU(target.PID)
		time.Sleep(pauseFor)
		after, err2 := procmem.ProcessCPU(target.PID)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		pausedCPU += int64(after - before)
		r.signal(syscall.SIGCONT)
		enoughSamples += fewSamples
	}
	r.until("there are enough samples after the last pause", enough)
	rec := r.finish()
	checkAccounting(t, rec.stats)
	checkPause(t, rec, pausedCPU)
	checkShares(t, rec.Profile, shares)
	if _, _, count := timesOf(rec.Profile, shares); count < fewShared {
		t.Errorf("the effective number of samples is %.0f, want at least %d", count, fewShared)
	}
}

func checkPause(t *testing.T, rec *recording, pausedCPU int64) {
	t.Helper()
	if rec.stats.NotObservedS < pauses*pauseFor.Seconds()/2 || rec.stats.NotObservedS > rec.stats.DurationS {
		t.Errorf("not_observed_s is %v of %v s, want at least half of the pauses and at most all",
			rec.stats.NotObservedS, rec.stats.DurationS)
	}
	const words = " s not observed (prywalk was stopped"
	if !strings.Contains(rec.stderr, words) || !strings.Contains(strings.Join(rec.Comments, "\n"), words) {
		t.Errorf("no %q in the closing line or in the recording's comments: %s\n%s", words, rec.stderr, rec.Comments)
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
	if cpu < pausedCPU/2 {
		t.Errorf("[not observed] has %d ns of CPU time, want at least half of the pauses' %d", cpu, pausedCPU)
	}
	// A wait in the run queue at the end of a pause is in both times: the kernel adds it when it ends.
	for tid, ns := range walls {
		if float64(ns-queued[tid])/1e9 > rec.stats.DurationS {
			t.Errorf("thread %d: %v s of wall time in %v s, even without %v s of queue time", tid, float64(ns)/1e9,
				rec.stats.DurationS, float64(queued[tid])/1e9)
		}
	}
}
