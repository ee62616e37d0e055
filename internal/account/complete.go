// SPDX-License-Identifier: Apache-2.0

package account

import (
	"fmt"
	"maps"
	"slices"

	"prywalk/internal/namehints"
	"prywalk/internal/runstats"
)

// wellComplete is the share of CPU time with complete stacks from which on no reason is reported.
const wellComplete = 0.99

// unsampled is the share of CPU time without a sample from which on no share of complete stacks is reported.
const unsampled = 0.999

// incompleteCPU returns the CPU time under incomplete stacks, s, and its most frequent reason.
func incompleteCPU(s *runstats.Stats) (sum float64, most string) {
	for _, reason := range slices.Sorted(maps.Keys(s.IncompleteCPU)) {
		v := s.IncompleteCPU[reason]
		sum += v
		if most == "" || v > s.IncompleteCPU[most] {
			most = reason
		}
	}
	return sum, most
}

// muchUnsampled is the share of CPU time without a sample from which on it is reported beside the share of complete
// stacks, which is then of the rest.
const muchUnsampled = 0.05

// completeCPU reports the share of CPU time with complete stacks; without CPU time, that of samples.
func completeCPU(s *runstats.Stats) string {
	if s.ProfiledCPU <= 0 {
		return Percent(s.Complete, s.Samples) + " of samples with complete stacks"
	}
	if s.UnobservedCPU > unsampled*s.ProfiledCPU {
		return "no CPU time was sampled"
	}
	sum, _ := incompleteCPU(s)
	if s.UnobservedCPU < muchUnsampled*s.ProfiledCPU {
		return percentOf(1-sum/s.ProfiledCPU) + " of CPU time with complete stacks"
	}
	return fmt.Sprintf("%s of the sampled CPU time with complete stacks, %s of CPU time not sampled",
		percentOf(max(0, 1-sum/(s.ProfiledCPU-s.UnobservedCPU))), percentOf(s.UnobservedCPU/s.ProfiledCPU))
}

// betweenSamples reports CPU time between two samples of a thread, with its cause.
func betweenSamples(s *runstats.Stats) string {
	lost := s.UnobservedCPU - s.ShortLivedCPU - s.ExitedUnseenCPU
	if lost < leastReported || lost < muchUnsampled*s.ProfiledCPU {
		return ""
	}
	why := "threads ran for a short time between two samples; a higher -F catches more of that"
	switch {
	case s.Failed["max-pause"] > 0:
		why = "--max-pause left out " + Plural(s.Failed["max-pause"], "stop") + "; a longer one lets them be sampled"
	case s.TicksWithheld > 0:
		why = "--max-overhead withheld " + Plural(s.TicksWithheld, "sampling tick") + "; a larger one lets them be sampled"
	}
	return fmt.Sprintf("%s of CPU time is between samples: %s", percentOf(lost/s.ProfiledCPU), why)
}

// percentOf formats a share with one digit; only 1 is 100%.
func percentOf(share float64) string { return Percent(int64(share*1e9), 1e9) }

// whyIncomplete reports the main reason of incomplete stacks and its cure, if they have much of the CPU time.
func whyIncomplete(s *runstats.Stats) string {
	sum, most := incompleteCPU(s)
	if s.ProfiledCPU <= 0 || 1-sum/s.ProfiledCPU >= wellComplete {
		return ""
	}
	return fmt.Sprintf("%s of CPU time has stacks that end early (%s): %s", percentOf(s.IncompleteCPU[most]/s.ProfiledCPU),
		most, namehints.IncompleteCure(most, namehints.AnyCode))
}
