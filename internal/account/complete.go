// SPDX-License-Identifier: Apache-2.0

package account

import (
	"fmt"
	"maps"
	"slices"

	"prywalk/internal/namehints"
	"prywalk/internal/runstats"
)

// wellComplete is the share of CPU time with complete stacks from which on record gives no reason.
const wellComplete = 0.99

// unsampled is the share of CPU time without a sample from which on no share of complete stacks is given.
const unsampled = 0.999

// incompleteCPU is the CPU time under incomplete stacks in seconds, and its most frequent reason.
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

// completeCPU is the share of CPU time with complete stacks; of samples, without CPU time. CPU time that no sample
// stands for counts as complete (the line reports it apart), unless that is all of it.
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

// percentOf writes a share with one digit. It never rounds up to 100 %.
func percentOf(share float64) string { return Percent(int64(share*1e9), 1e9) }

// whyIncomplete gives the reason of incomplete stacks and the next step, if they have much of the CPU time; else "".
func whyIncomplete(s *runstats.Stats) string {
	sum, most := incompleteCPU(s)
	if s.ProfiledCPU <= 0 || 1-sum/s.ProfiledCPU >= wellComplete {
		return ""
	}
	return fmt.Sprintf("%s of CPU time has stacks that end early (%s): %s", percentOf(s.IncompleteCPU[most]/s.ProfiledCPU),
		most, namehints.IncompleteCure(most, namehints.AnyCode))
}
