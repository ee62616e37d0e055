package account

import (
	"encoding/json"
	"fmt"
	"io"

	"prywalk/internal/runstats"
)

// WriteJSON writes what a run did as JSON.
func WriteJSON(w io.Writer, s *runstats.Stats) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

// Full is the line that the recording keeps: what heads a report, and after a bar the rest.
func Full(s *runstats.Stats) string {
	return fmt.Sprintf("prywalk: %s | %d ticks (%d missed, %.1f/s), %d looks = %d frozen + %d peeked + %d reused + %d "+
		"failed%s, and %d samples; "+
		"%s of %d samples with complete stacks%s; longest freeze %s (p50 %s%s); looks by thread %s%s; "+
		"cpu %.3f s by the kernel, %.3f s in the profile, %.3f s of it not observed%s; %s",
		brief(s), s.Ticks, s.MissedTicks, s.Freq, s.Attempted, s.Frozen, s.Peeked, s.Reused, Sum(s.Failed), Reasons(s.Failed),
		s.Sampled,
		Percent(s.Complete, s.Samples), s.Samples, Reasons(s.Incomplete),
		threeDigits(int64(s.Freeze.Max)), threeDigits(int64(s.Freeze.P50)), lengths(s)+longCauses(s), rates(s), withheld(s),
		s.TargetCPU, s.ProfiledCPU, s.UnobservedCPU,
		underQuota(s, "; ")+unobserved(s, "; ")+unmet(s, "; ")+harm(s), s.Scheduling+engine(s))
}

// perfEngine says what people need to know where the kernel samples running threads, "" if it does not.
func perfEngine(s *runstats.Stats) string {
	text := ""
	switch {
	case s.EngineNote != "":
		text = ", engine " + s.Engine + " (" + s.EngineNote + ")"
	case s.Engine != "ptrace" && s.Engine != "": // "" where nothing was looked at
		text = ", engine " + s.Engine
	}
	return text + lost(s)
}

// engine says how running threads were observed, and what was lost.
func engine(s *runstats.Stats) string {
	text := "; engine " + s.Engine
	if s.EngineNote != "" {
		text += " (" + s.EngineNote + ")"
	}
	return text + lost(s)
}

// lost says how many of the kernel's samples found no room, "" if all did. The kernel's buffers are everybody's.
func lost(s *runstats.Stats) string {
	switch {
	case s.LostSamples == 0:
		return ""
	case s.LostOfTargets == s.LostSamples:
		return fmt.Sprintf(", %s lost", Plural(s.LostSamples, "sample"))
	}
	few := "hardly any sample"
	if s.LostOfTargets > 0 {
		few = "about " + Plural(s.LostOfTargets, "sample")
	}
	return fmt.Sprintf(", %s lost (%s of all programs found no room)", few, Plural(s.LostSamples, "record"))
}
