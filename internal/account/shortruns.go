// SPDX-License-Identifier: Apache-2.0

package account

import (
	"fmt"
	"math"
	"time"

	"prywalk/internal/runstats"
)

// leastUnsampled is the share of the CPU time, of switches that samples may miss, from which on it is reported.
const leastUnsampled = 0.02

// shortRuns says by how much shares may be off because threads run in short bursts, "" if that is not worth a word.
func shortRuns(s *runstats.Stats) string {
	off := s.Unsampled()
	if off < leastUnsampled || s.ProfiledCPU < leastToTell {
		return ""
	}
	mean := s.ShortRunsCPU / float64(s.ShortRuns)
	return fmt.Sprintf(", shares may be off by up to %.0f points (%d short runs on a processor, %s on average; samples "+
		"miss at most %s of each, the switch)", math.Ceil(100*off), s.ShortRuns,
		time.Duration(mean*1e9).Round(time.Microsecond), s.SwitchCost.Duration().Round(time.Microsecond))
}
