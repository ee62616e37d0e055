// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

func callNames(counts map[string]int64) []string {
	var names []string
	for key := range maps.Keys(counts) {
		if name, ok := strings.CutSuffix(key, ".done"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// By default a thread that sleeps in an unrepairable call is not stopped, but one that runs may be about to enter it.
var unrepairable = []string{"connect/SNDTIMEO+t", "connect/TCP,SNDTIMEO+t"}

func TestNoBlockingCallNoticesDefaultSampling(t *testing.T) {
	p := start(t, "calls", "wait", "4000", "50")
	samples := int64(testtargets.Times(10_000, 100_000))
	var done stats
	for end := time.Now().Add(patience); done.Attempted < samples && time.Now().Before(end); {
		r := record(t, p.pid)
		r.awaitSamples(p.pid)
		p.awaitProgress(20)
		s := r.stop()
		done.Attempted += s.Attempted
		done.Stopped += s.Stopped
		done.Restarted += s.Restarted
		done.Broken += s.Broken
	}
	counts := p.finish()
	rests := int64(0)
	for _, name := range callNames(counts) {
		if n := counts[name+".changed"]; strings.Contains(name, "/rest") {
			rests += n
		} else if n != 0 {
			t.Errorf("%s: %d calls changed the program's memory, want 0", name, n)
		}
	}
	t.Logf("%d sleeps that write their remaining time over their length were stopped on entry", rests)
	t.Logf("%d observations, %d stops, %d calls restarted", done.Attempted, done.Stopped, done.Restarted)
	if done.Attempted < samples {
		t.Errorf("%d observations, want at least %d", done.Attempted, samples)
	}
	broken := int64(0)
	for _, name := range callNames(counts) {
		if n := counts[name+".broken"]; n > 0 && slices.Contains(unrepairable, name) {
			t.Logf("%s: %d EINTR", name, n)
			broken += n
			counts[name+".broken"] = 0
		}
		if counts[name+".broken"] != 0 || counts[name+".short"] != 0 || counts[name+".failed"] != 0 {
			t.Errorf("%s: %d EINTR, %d short, %d failed (errno %d), want none", name, counts[name+".broken"],
				counts[name+".short"], counts[name+".failed"], counts[name+".errno"])
		}
	}
	if broken > done.Broken {
		t.Errorf("the program saw %d EINTR, prywalk counted %d broken calls", broken, done.Broken)
	}
}

// A call that works long in the kernel gives a short count if it is interrupted. A stop cannot undo that
// (docs/noticed.md).
func TestShortCountsComeFromStopsOnly(t *testing.T) {
	for _, group := range []string{"partial", "run"} {
		for _, rung := range testtargets.First([]string{"auto", "passive"}) {
			t.Run(group+"/"+rung, func(t *testing.T) {
				p := start(t, "calls", group, "4000", "50")
				r := record(t, p.pid, "--rung", rung)
				r.awaitSamples(p.pid)
				p.awaitProgress(20)
				s := r.stop()
				counts := p.finish()
				shorts := int64(0)
				for _, name := range callNames(counts) {
					t.Logf("%s: %d whole, %d short", name, counts[name+".done"], counts[name+".short"])
					shorts += counts[name+".short"]
					if counts[name+".broken"] != 0 || counts[name+".failed"] != 0 {
						t.Errorf("%s: %d EINTR, %d failed (errno %d), want none", name, counts[name+".broken"],
							counts[name+".failed"], counts[name+".errno"])
					}
				}
				if shorts > s.Stopped {
					t.Errorf("%d short counts, want at most %d, the number of stops", shorts, s.Stopped)
				}
			})
		}
	}
}
