// SPDX-License-Identifier: Apache-2.0

// Package runstats declares the counts of a run, each with its meaning and its field of --stats, in order, and
// describes the run by them: in a line, in a recording's comment, and as the error of a run without samples. A part of
// a text is "" if there is nothing to report.
package runstats

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/base/sample"
	"prywalk/internal/base/tabular"
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
		"cpu %.3f s by the kernel, %.3f s in the profile, %.3f s of it unexplained%s; %.1f s not observed (%s, "+
		"longest %.1f s), host suspended for %.1f s; scheduling %s; %s",
		overhead(s)+unopened(s), s.Ticks, s.MissedTicks, s.Freq, s.Attempted, s.Stops, s.PassiveReads, s.Unchanged,
		Sum(s.Failed), Reasons(s.Failed),
		s.KernelSampled,
		completeCPU(s), Percent(s.Complete, s.Samples), s.Samples, Reasons(s.Incomplete),
		longestStop(s), stopTimeCounts(s)+longStopCauses(s), withheld(s),
		s.TargetCPU, s.ProfiledCPU, s.UnobservedCPU,
		endedUnobserved(s, "; "), s.NotObserved, Plural(s.Gaps, "gap"), s.LongestGap, s.Suspended,
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

// lostSamples has an upper bound of the targets' samples: all programs share the kernel's buffers.
func lostSamples(s *Stats) string {
	if s.LostSamples == 0 {
		return ""
	}
	return fmt.Sprintf(", up to %s lost (buffers were full or malformed: a lower -F, or CAP_IPC_LOCK, loses fewer)",
		Plural(s.LostSamples, "sample"))
}

// Plural is a count with its noun.
func Plural(n int64, what string) string { return fmt.Sprintf("%d %s", n, tabular.Noun(n, what)) }

// Sum adds counts.
func Sum(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// Reasons lists counts in parentheses, largest first.
func Reasons(m map[string]int64) string {
	if len(m) == 0 {
		return ""
	}
	names := byFrequency(m)
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %d", n, m[n])
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func byFrequency(m map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b))
	})
}

// Percent is "100%" for the whole only.
func Percent(part, whole int64) string {
	if whole == 0 {
		return "0%"
	}
	if part == whole {
		return "100%"
	}
	return fmt.Sprintf("%.1f%%", float64(sample.Portion(part, 1000, whole))/10) // part × 1000 may overflow
}

func percentage(v float64) string { return strconv.FormatFloat(100*v, 'g', -1, 64) + "%" }
