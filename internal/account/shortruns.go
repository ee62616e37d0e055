// SPDX-License-Identifier: Apache-2.0

package account

import (
	"fmt"
	"math"
	"time"

	"prywalk/internal/runstats"
)

const (
	// leastUnsampled is the least reported share of CPU time in switches that samples may miss.
	leastUnsampled = 0.05
	// mostUnsampled is the share from which on a bound of the error means nothing.
	mostUnsampled = 0.5
)

// shortRuns reports the error of shares for threads that run in short bursts.
func shortRuns(s *runstats.Stats) string {
	off := s.Unsampled()
	if off < leastUnsampled || s.ProfiledCPU < leastReported {
		return ""
	}
	mean := s.ShortRunsCPU / float64(s.ShortRuns)
	what := "the error of shares is not bounded"
	if off < mostUnsampled {
		what = fmt.Sprintf("shares may be off by up to %.0f percentage points", math.Ceil(100*off))
	}
	return fmt.Sprintf(", %s (threads ran %d times for %s on average, and samples can miss %s of each run)", what,
		s.ShortRuns, time.Duration(mean*1e9).Round(time.Microsecond), s.SwitchCost.Duration().Round(time.Microsecond))
}
