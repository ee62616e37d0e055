// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"fmt"
	"math"
	"time"

	"prywalk/internal/base/incomplete"
)

// Above maxUnsampledShare a bound of the error means nothing.
const maxUnsampledShare = 0.5

func shortRuns(s *Stats) string {
	off := s.Unsampled()
	if off < incomplete.MuchUnsampled || s.ProfiledCPU < minReportedTime {
		return ""
	}
	mean := s.ShortRunsCPU / float64(s.ShortRuns)
	what := "the error of shares is not bounded"
	if off < maxUnsampledShare {
		what = fmt.Sprintf("shares may be off by up to %.0f percentage points", math.Ceil(100*off))
	}
	return fmt.Sprintf(", %s (threads ran %d times for %s on average, and samples can miss %s of each run)", what,
		s.ShortRuns, time.Duration(mean*1e9).Round(time.Microsecond), s.SwitchCost.Duration().Round(time.Microsecond))
}
