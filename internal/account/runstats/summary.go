// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"fmt"
	"strings"

	"prywalk/internal/base/refusal"
)

func overhead(s *Stats) string {
	return fmt.Sprintf("%s, prywalk used %.2f s CPU", stopTimes(s), s.SelfCPU)
}

func withheld(s *Stats) string {
	var b strings.Builder
	if s.MaxOverhead > 0 {
		fmt.Fprintf(&b, "; --max-overhead %s: %d ticks withheld, targets lost %.3f ms of %.3f s",
			percentage(s.MaxOverhead), s.TicksWithheld, s.Lost*1e3, s.TargetCPU)
	}
	if s.MaxPause > 0 {
		fmt.Fprintf(&b, "; --max-pause %s: %d stops left out", s.MaxPause.Duration(), s.Failed[refusal.MaxPause.Word()])
	}
	if s.Subset > 0 {
		fmt.Fprintf(&b, "; --subset %d", s.Subset)
	}
	if s.NotDrawn > 0 {
		fmt.Fprintf(&b, "; %d samples left out at random", s.NotDrawn)
	}
	return b.String()
}

// ClosingLine is record's last line; [Losses] precede it.
func ClosingLine(s *Stats, path string) string {
	threads := Plural(s.ThreadsMax, "thread")
	if s.ThreadsMax > 1 {
		threads = "up to " + threads // not at one time
	}
	return fmt.Sprintf("%s of %s in %.1f s at %.1f/s, %s; overhead: %s → %s",
		Plural(s.Samples, "sample"), threads, s.Seconds, s.Freq, completeCPU(s), overhead(s), path)
}
