// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes what a run did as JSON, the object of --stats.
func WriteJSON(w io.Writer, s *Stats) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

// CommentLine is a recording's comment: the overhead, a bar, the rest. [Losses] are comments of their own.
func CommentLine(s *Stats) string {
	return fmt.Sprintf("prywalk: overhead: %s | %d ticks (%d missed, %.1f/s), %d attempted = %d stopped + "+
		"%d read passively + %d unchanged + %d failed%s, and %d sampled by the kernel; "+
		"%s, %s of %d samples%s; %s%s%s; "+
		"cpu %.3f s by the kernel, %.3f s in the profile, %.3f s of it unexplained%s; scheduling %s; %s",
		overhead(s)+unopened(s), s.Ticks, s.MissedTicks, s.Freq, s.Attempted, s.Stops, s.PassiveReads, s.Unchanged,
		Sum(s.Failed), Reasons(s.Failed),
		s.KernelSampled,
		completeCPU(s), Percent(s.Complete, s.Samples), s.Samples, Reasons(s.Incomplete),
		longestStop(s), stopTimeCounts(s)+longStopCauses(s), withheld(s),
		s.TargetCPU, s.ProfiledCPU, s.UnobservedCPU,
		endedUnobserved(s, "; ")+shortRuns(s),
		s.Scheduling, engine(s))
}

var engines = map[string]string{
	"perf": "sampled by the kernel (perf events)", "ptrace": "sampled by stopping threads",
	"perf, then ptrace": "sampled by the kernel (perf events), then by stopping threads", "": "not sampled",
}

func engine(s *Stats) string {
	text := engines[s.Engine]
	if s.FallbackNote != "" {
		text += " (" + s.FallbackNote + ")"
	}
	return text + lostSamples(s)
}

// lostSamples distinguishes the targets' samples: all programs share the kernel's buffers.
func lostSamples(s *Stats) string {
	switch {
	case s.LostSamples == 0:
		return ""
	case s.LostOfTargets == s.LostSamples:
		return fmt.Sprintf(", %s lost", Plural(s.LostSamples, "sample"))
	}
	few := "almost no samples"
	if s.LostOfTargets > 0 {
		few = "about " + Plural(s.LostOfTargets, "sample")
	}
	return fmt.Sprintf(", %s lost (buffers were full: %s of all programs dropped)", few,
		Plural(s.LostSamples, "record"))
}
