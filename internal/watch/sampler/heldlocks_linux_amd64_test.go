// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/internal/store/profile"
	"prywalk/internal/watch/target"
)

// One that runs has a lock once another goroutine was seen to wait for it.
func TestGoroutinesHaveTheLocksThatTheyAwaitAndLikelyHold(t *testing.T) {
	pid := goTarget(t, "heldlocks")
	r := record(t, target.SamplingOptions{Tasks: true}, 300*time.Millisecond, func(s *Sampler) {
		await(t, "goroutines are recorded", func() bool { return s.aggregator.TaskObservations() >= 6 })
		walked, _ := s.aggregator.Stacks()
		await(t, "the one that runs is sampled again", func() bool {
			all, _ := s.aggregator.Stacks()
			return all >= walked+20
		})
	}, pid)
	awaits, holds, stacks := map[string]string{}, map[string]string{}, map[string]bool{}
	for _, s := range r.Sample {
		if at := label(s, profile.LabelTaskStack); at != "" && slices.Contains(stack(s), "main.run") {
			stacks[at] = true // whatever thread has it
		}
		for _, function := range []string{"hold", "await", "read", "free", "meet", "run", "queue"} {
			if slices.Contains(stack(s), "main."+function) && (ofGoroutine(s) || label(s, profile.LabelHolds) != "") {
				awaits[function], holds[function] = label(s, profile.LabelAwaitsLock), label(s, profile.LabelHolds)
			}
		}
	}
	if len(stacks) != 1 {
		t.Errorf("the goroutine that runs has the stacks %v", stacks)
	}
	held := strings.Fields(holds["hold"])
	if holds["run"] == "" || holds["run"] != awaits["queue"] {
		t.Errorf("the one that runs holds %q, and %q is awaited", holds["run"], awaits["queue"])
	}
	if len(awaits) != 7 || len(held) != 2 || !slices.Contains(held, awaits["await"]) ||
		!slices.Contains(held, awaits["read"]) || awaits["await"] == awaits["read"] {
		t.Errorf("goroutines await %q and hold %q", awaits, holds)
	}
	for _, function := range []string{"await", "read", "free", "meet", "queue"} {
		if holds[function] != "" {
			t.Errorf("%s holds %q", function, holds[function])
		}
	}
}
