// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
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

// unrepairable are the calls whose restart would not be sound. The ladder freezes no thread that sleeps in
// one, but a thread that runs when it is interrupted may be about to enter it.
var unrepairable = []string{"connect/SNDTIMEO+t", "connect/TCP,SNDTIMEO+t"}

func TestNoBlockingCallNoticesTheLadder(t *testing.T) {
	p := start(t, "calls", "wait", "4000", "50")
	const samples = 100_000
	var done stats
	for end := time.Now().Add(patience); done.Attempted < samples && time.Now().Before(end); {
		r := record(t, p.pid)
		r.awaitSamples(p.pid)
		p.works(20) // time-outs of 50 ms, and of the calls without one
		s := r.stop()
		done.Attempted += s.Attempted
		done.Frozen += s.Frozen
		done.Restarted += s.Restarted
		done.Broken += s.Broken
	}
	counts := p.verdict()
	rests := int64(0)
	for _, name := range callNames(counts) {
		if n := counts[name+".changed"]; strings.Contains(name, "/rest") {
			rests += n
		} else if n != 0 {
			t.Errorf("%s: memory of the program's was written %d times", name, n)
		}
	}
	t.Logf("%d of the sleeps whose rest goes where their length is were met on their way in", rests)
	t.Logf("%d looks, %d frozen, %d restarted", done.Attempted, done.Frozen, done.Restarted)
	if done.Attempted < samples {
		t.Errorf("only %d looks", done.Attempted)
	}
	broken := int64(0)
	for _, name := range callNames(counts) {
		if n := counts[name+".broken"]; n > 0 && slices.Contains(unrepairable, name) {
			t.Logf("%s: %d EINTR", name, n)
			broken += n
			counts[name+".broken"] = 0
		}
		if counts[name+".broken"] != 0 || counts[name+".short"] != 0 || counts[name+".failed"] != 0 {
			t.Errorf("%s: %d EINTR, %d short, %d failed (errno %d)", name, counts[name+".broken"],
				counts[name+".short"], counts[name+".failed"], counts[name+".errno"])
		}
	}
	// Each of these is one that prywalk has seen and could not hide.
	if broken > done.Broken {
		t.Errorf("%d EINTR, prywalk counts %d", broken, done.Broken)
	}
}

// A call that works for long inside the kernel, or waits between two parts of its work, and that is interrupted
// then, gives a short count. Nothing can take that back: docs/noticed.md. Here is only what can be promised:
// without a freeze there is none, and never more than freezes.
func TestShortCountsComeFromStopsOnly(t *testing.T) {
	for _, group := range []string{"partial", "run"} {
		for _, rung := range []string{"peek", "ladder"} {
			t.Run(group+"/"+rung, func(t *testing.T) {
				p := start(t, "calls", group, "4000", "50")
				r := record(t, p.pid, "--rung", rung)
				r.awaitSamples(p.pid)
				p.works(20)
				s := r.stop()
				counts := p.verdict()
				shorts := int64(0)
				for _, name := range callNames(counts) {
					t.Logf("%s: %d whole, %d short", name, counts[name+".done"], counts[name+".short"])
					shorts += counts[name+".short"]
					if counts[name+".broken"] != 0 || counts[name+".failed"] != 0 {
						t.Errorf("%s: %d EINTR, %d failed (errno %d)", name, counts[name+".broken"],
							counts[name+".failed"], counts[name+".errno"])
					}
				}
				if shorts > s.Frozen {
					t.Errorf("%d short counts of %d freezes", shorts, s.Frozen)
				}
			})
		}
	}
}
