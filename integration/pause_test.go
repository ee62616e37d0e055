// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

// How long a pause must be to be a gap depends on how late prywalk's ticks are (gapDetector of package tracer): each
// pause is twice as long as the one before until one is in the recording. What a gap takes from the samples is
// tested exactly in package attribute.
func TestTimeOfAStoppedProfilerIsNotObserved(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	r := startRecording(t, nil, "-p", pidList([]int{target.PID}))
	samples := int64(0)
	more := func(p *profile.Profile) bool {
		n := computing(p)
		if n <= samples {
			return false
		}
		samples = n
		return true
	}
	r.until("there are samples on a CPU", more)
	seen := func() (cpu int64) {
		for _, s := range readProfile(t, r.file).Sample {
			if stackOf(s)[0] == "[not observed]" {
				cpu += s.Value[cpuColumn]
			}
		}
		return cpu
	}
	paused := time.Duration(0)
	for pause := 500 * time.Millisecond; seen() == 0 && pause < patience; pause *= 2 {
		r.signal(syscall.SIGSTOP)
		eventually(t, "prywalk is stopped", func() bool { return stateOf(r.cmd.Process.Pid) == "T" })
		before, err := cpuOf(target.PID)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the target runs on", func() bool {
			now, err := cpuOf(target.PID)
			return err == nil && now > before+pause
		})
		r.signal(syscall.SIGCONT)
		paused += pause
		r.until("there are samples after the pause", more)
	}
	rec := r.finish()
	checkAccounting(t, rec.stats)
	if seen() == 0 {
		t.Errorf("[not observed] has no CPU time after pauses in which the program used %v", paused)
	}
	if rec.stats.NotObservedS <= 0 || rec.stats.NotObservedS > rec.stats.DurationS {
		t.Errorf("not_observed_s is %v of %v s", rec.stats.NotObservedS, rec.stats.DurationS)
	}
	const words = "the host was too busy for prywalk for "
	if !strings.Contains(rec.stderr, words) ||
		!slices.ContainsFunc(rec.Comments, func(c string) bool { return strings.Contains(c, words) }) {
		t.Errorf("no %q in the notes or in the recording's comments: %s\n%s", words, rec.stderr, rec.Comments)
	}
}
