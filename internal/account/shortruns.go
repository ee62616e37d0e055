// SPDX-License-Identifier: Apache-2.0

package account

import (
	"fmt"
	"math"
	"time"

	"prywalk/internal/runstats"
)

// leastUnsampled is the least reported share of CPU time in switches that samples may miss.
const leastUnsampled = 0.05

// shortRuns gives the error of shares for threads that run in short bursts, "" if negligible.
func shortRuns(s *runstats.Stats) string {
	off := s.Unsampled()
	if off < leastUnsampled || s.ProfiledCPU < leastToTell {
		return ""
	}
	mean := s.ShortRunsCPU / float64(s.ShortRuns)
	return fmt.Sprintf(", shares may be off by up to %.0f percentage points (threads ran %d times for %s on average, "+
		"and samples can miss %s of each run)", math.Ceil(100*off), s.ShortRuns,
		time.Duration(mean*1e9).Round(time.Microsecond), s.SwitchCost.Duration().Round(time.Microsecond))
}
