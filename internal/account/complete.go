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

// completeCPU reports the share of CPU time with complete stacks; without CPU time, that of samples. CPU time
// without a sample counts as complete (it is reported apart), unless that is all.
func completeCPU(s *runstats.Stats) string {
	if s.ProfiledCPU <= 0 {
		return Percent(s.Complete, s.Samples) + " of samples with complete stacks"
	}
	if s.UnobservedCPU > unsampled*s.ProfiledCPU {
		return "no CPU time was sampled"
	}
	sum, _ := incompleteCPU(s)
	return percentOf(1-sum/s.ProfiledCPU) + " of CPU time with complete stacks"
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
