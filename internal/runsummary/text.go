// SPDX-License-Identifier: Apache-2.0

package runsummary

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/exit"
	"prywalk/internal/refusal"
	"prywalk/internal/runstats"
	"prywalk/internal/sample"
	"prywalk/internal/tabular"
)

func summary(s *runstats.Stats) string {
	return "overhead: " + overhead(s) + slowestThread(s) + failures(s) + quotaLoweredRate(s, ", ") + unobserved(s, ", ") +
		shortRuns(s) + disturbedCalls(s) + lostSamples(s)
}

func overhead(s *runstats.Stats) string {
	return fmt.Sprintf("%s, prywalk used %.2f s CPU", stopTimes(s), s.SelfCPU)
}

const lowRateShare = 0.8

func slowestThread(s *runstats.Stats) string {
	if s.SlowestThread <= 0 || s.SlowestThread > lowRateShare*s.Freq {
		return ""
	}
	for i := range s.Rates {
		if r := &s.Rates[i]; r.Rate == s.SlowestThread {
			return fmt.Sprintf(", thread %d (%s) was sampled least, %.1f times a second", r.TID, r.Name, r.Rate)
		}
	}
	return fmt.Sprintf(", the thread that was sampled least got %.1f samples/s", s.SlowestThread)
}

const longCopy = 256 << 10 // bytes: such a copy explains a long stop

func stopTimes(s *runstats.Stats) string {
	if s.Stops == 0 {
		return "no thread was stopped"
	}
	text := "stops ≤ " + formatTime(int64(s.StopTime.Max))
	if s.Stops >= 100 {
		text += " (p99 " + formatTime(int64(s.StopTime.P99)) + ")"
	}
	return text
}

func longestStop(s *runstats.Stats) string {
	if s.Stops == 0 {
		return "no thread was stopped"
	}
	what := fmt.Sprintf("thread %d", s.LongestStop.TID)
	switch {
	case s.LongestStop.Copied >= longCopy:
		what += fmt.Sprintf(", %d KiB of stack copied", s.LongestStop.Copied>>10)
	case s.Stops > 1 && s.StopTime.Max > 8*s.StopTime.P99:
		what += ", probably delayed by the scheduler"
	}
	return fmt.Sprintf("longest stop %s (%s), p99 %s, p50 %s", formatTime(int64(s.StopTime.Max)), what,
		formatTime(int64(s.StopTime.P99)), formatTime(int64(s.StopTime.P50)))
}

// longStop is the length, ns, from which on record adds a note.
const longStop = 50e6

func longStopNote(s *runstats.Stats) string {
	if s.Stops == 0 || s.StopTime.Max < longStop {
		return ""
	}
	why, next := "not known", "prywalk report --account counts long stops by cause"
	for cause, l := range s.LongStops {
		if l.Max == s.StopTime.Max {
			why, next = cause, cmp.Or(longStopRemedy(s, cause), next)
		}
	}
	return fmt.Sprintf(", longest stop %s (thread %d, cause: %s); %s", formatTime(int64(s.StopTime.Max)),
		s.LongestStop.TID, why, next)
}

func longStopRemedy(s *runstats.Stats, cause string) string {
	switch {
	case cause == "copy" && s.MaxPause == 0:
		return "--max-pause 1ms omits stops that are expected to take longer"
	case cause == "lock" && s.LongestGap*1e9 >= float64(s.StopTime.Max)/2: // no tick either: a signal or a lock
		return "prywalk was stopped by a signal (Ctrl-Z or kill -TSTP release threads first), or the target's mappings " +
			"were locked, as by mmap"
	case cause == "lock" && s.MaxPause == 0:
		return "the target's mappings were locked, as by mmap; --max-pause 1ms limits this wait"
	case cause == "preempted" && s.Scheduling != "fifo":
		return "root or CAP_SYS_NICE gives prywalk a real-time priority"
	case cause == "turn":
		return "it waited until prywalk had finished another thread; a lower -F makes that rarer"
	case cause == "stolen":
		return "the hypervisor ran other guests; a host that is not shared has no such stops"
	}
	return ""
}

// formatTime formats ns with three digits, in the largest unit up to seconds.
func formatTime(ns int64) string {
	d := threeDigits(ns)
	if d >= time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	text := d.String()
	at := strings.LastIndexAny(text, "0123456789") + 1
	return text[:at] + " " + text[at:]
}

func threeDigits(ns int64) time.Duration {
	unit := int64(1)
	for ns/unit >= 1000 {
		unit *= 10
	}
	return time.Duration((ns + unit/2) / unit * unit)
}

func failures(s *runstats.Stats) (text string) {
	if failed := UnexpectedFailures(s.Failed); len(failed) > 0 {
		text = fmt.Sprintf(", %s failed%s", Plural(Sum(failed), "sample"), Reasons(failed))
	}
	if n := s.Unopened; n > 0 {
		text += fmt.Sprintf(", %s not opened (too many open files in prywalk: raise its limit, ulimit -n 4096; or too many "+
			"processes started at once)", Plural(n, "started process"))
	}
	if n := Sum(s.Refused); n > 0 {
		text += fmt.Sprintf(", %s left out%s", Plural(n, "selected process"), Reasons(s.Refused))
	}
	return text
}

func unobserved(s *runstats.Stats, before string) string {
	var b strings.Builder
	if s.NotObserved >= minReportedTime {
		fmt.Fprintf(&b, "%s%.1f s not observed (prywalk was stopped or got no CPU: %s, longest %.1f s)",
			before, s.NotObserved, Plural(s.Gaps, "gap"), s.LongestGap)
	}
	if s.Suspended >= minReportedTime {
		fmt.Fprintf(&b, "%s%.1f s not observed (the host was suspended)", before, s.Suspended)
	}
	return b.String()
}

func quotaLoweredRate(s *runstats.Stats, before string) string {
	if s.Quota == 0 || s.TicksWithheldByQuota == 0 && s.Freq > ReachedRateShare*s.FreqAsked {
		return ""
	}
	return fmt.Sprintf("%srate lowered (CPU quota of prywalk's cgroup is %s of a CPU: %s skipped)",
		before, percentage(s.Quota), Plural(s.TicksWithheldByQuota, "sampling tick"))
}

// minReportedTime is in s.
const minReportedTime = 0.05

func stopTimeCounts(s *runstats.Stats) string {
	var b strings.Builder
	for _, k := range s.StopTimes {
		if k.N > 0 {
			fmt.Fprintf(&b, ", %d below %s", k.N, k.Below.Duration())
		}
	}
	return b.String()
}

func longStopCauses(s *runstats.Stats) string {
	counts := map[string]int64{}
	for cause, l := range s.LongStops {
		counts[cause] = l.N
	}
	if len(counts) == 0 {
		return ""
	}
	return ", long stops by cause" + Reasons(counts)
}

func rateRange(s *runstats.Stats) string {
	if len(s.Rates) == 0 {
		return "not known"
	}
	all := make([]float64, len(s.Rates))
	for i := range s.Rates {
		all[i] = s.Rates[i].Rate
	}
	slices.Sort(all)
	return fmt.Sprintf("slowest %.1f/s, median %.1f/s, fastest %.1f/s", s.SlowestThread, all[len(all)/2],
		all[len(all)-1])
}

func withheld(s *runstats.Stats) string {
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

// ClosingLine is record's last line; [Notes] precede it.
func ClosingLine(s *runstats.Stats, path string) string {
	threads := Plural(s.ThreadsMax, "thread")
	if s.ThreadsMax > 1 {
		threads = "up to " + threads // not at one time
	}
	return fmt.Sprintf("%s of %s in %.1f s at %.1f/s, %s; overhead: %s → %s",
		Plural(s.Samples, "sample"), threads, s.Seconds, s.Freq, completeCPU(s), overhead(s), path)
}

// Notes are record's remarks, the most important first.
func Notes(s *runstats.Stats) (notes []string) {
	for _, text := range []string{
		unobserved(s, ""), failures(s), disturbedCalls(s), longStopNote(s), quotaLoweredRate(s, ""), endedUnobserved(s, ""),
		timeBetweenSamples(s), whyIncomplete(s), lostSamples(s), engineNote(s), slowestThread(s), shortRuns(s),
	} {
		if text != "" {
			notes = append(notes, "note: "+strings.TrimPrefix(text, ", "))
		}
	}
	return notes
}

const minThrottledShare = 0.01

// TargetGroups describes targets whose control groups used up their CPU quota or were frozen, a line each.
func TargetGroups(s *runstats.Stats) (lines []string) {
	type frozen struct{ cgroup, when string }
	first, n := map[frozen]int{}, map[frozen]int64{}
	var order []frozen
	for i := range s.FrozenTargets {
		f := &s.FrozenTargets[i]
		k := frozen{f.Cgroup, whenFrozen(f)}
		if n[k]++; n[k] == 1 {
			first[k], order = f.PID, append(order, k)
		}
	}
	for _, k := range order {
		its, threads := "its", "its threads"
		if n[k] > 1 {
			its, threads = "their", "their threads"
		}
		lines = append(lines, fmt.Sprintf("%s: %s cgroup %s was frozen (as by docker pause) %s: %s did not run then",
			FirstAndOthers(first[k], n[k]), its, k.cgroup, k.when, threads))
	}
	for i := range s.TargetQuotas {
		if q := &s.TargetQuotas[i]; q.Seconds >= minThrottledShare*s.Seconds {
			lines = append(lines, fmt.Sprintf("process %d: its cgroup %s was throttled for %.1f s, in %d of %s, as its "+
				"CPU quota of %s CPUs was used up; this counts as run queue time", q.PID, q.Cgroup, q.Seconds,
				q.ThrottledPeriods, Plural(q.Periods, "period"), tabular.TrimFloat(q.CPUs)))
		}
	}
	return lines
}

func whenFrozen(f *runstats.FrozenTarget) string {
	switch {
	case f.AtStart && f.AtEnd:
		return "when the recording began and when it ended"
	case f.AtStart:
		return "when the recording began"
	case f.AtEnd:
		return "when the recording ended"
	}
	return "for a part of the recording"
}

// FirstAndOthers names n processes by the first one's PID.
func FirstAndOthers(pid int, n int64) string {
	if n <= 1 {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("process %d and %s", pid, Plural(n-1, "other"))
}

func engineNote(s *runstats.Stats) string {
	if s.FallbackNote == "" || s.Engine == "ptrace" {
		return ""
	}
	return ", " + s.FallbackNote
}

const minEndedUnobservedShare = 0.02

func endedUnobserved(s *runstats.Stats, before string) string {
	lost := s.ShortLivedCPU + s.ExitedUnseenCPU
	if lost < minReportedTime || lost < minEndedUnobservedShare*s.ProfiledCPU {
		return ""
	}
	programs := ""
	if s.ProgramCPU > 0 {
		programs = fmt.Sprintf(", %s of it known by program", Percent(int64(s.ProgramCPU*1e9), int64(s.ShortLivedCPU*1e9)))
	}
	return fmt.Sprintf("%s%.2f s of %.2f s of CPU time is not attributed to a function (%.2f s in short-lived "+
		"children%s, %.2f s in threads that exited before a sample)", before, lost, s.ProfiledCPU, s.ShortLivedCPU, programs,
		s.ExitedUnseenCPU)
}

// TooShortLine is the last line for a command that exited before a sample.
func TooShortLine(s *runstats.Stats, path string) string {
	after := ""
	if s.ProfiledCPU > 0 {
		after = fmt.Sprintf(" after %s of CPU,", formatTime(int64(s.ProfiledCPU*1e9)))
	}
	if main, ok := MainFailure(s.Failed); ok {
		return fmt.Sprintf("command exited%s without a sample: %s%s; %s → %s", after, whyFailed(main), Reasons(s.Failed),
			main.NextStep(), path)
	}
	next := "record a command that runs longer"
	if rate := tryHigherRate(s); rate != "" {
		next = rate
	}
	return fmt.Sprintf("command exited%s before the first sample; %s → %s", after, next, path)
}

const shortCommandRate = 1000 // Hz

// tryHigherRate returns "" if the rate was as high.
func tryHigherRate(s *runstats.Stats) string {
	if s.FreqAsked >= shortCommandRate {
		return ""
	}
	return fmt.Sprintf("try -F %d", shortCommandRate)
}

func disturbedCalls(s *runstats.Stats) string {
	var b strings.Builder
	if s.Broken > 0 {
		fmt.Fprintf(&b, ", %s interrupted by a stop%s", Plural(s.Broken, "system call"), Reasons(s.BrokenCalls))
	}
	if s.ReportedTwice > 0 {
		fmt.Fprintf(&b, ", %s repeated%s", Plural(s.ReportedTwice, "system call"), Reasons(s.ReportedTwiceCalls))
	}
	return b.String()
}

// UnexpectedFailures leaves out failures of ended threads.
func UnexpectedFailures(failed map[string]int64) map[string]int64 {
	out := maps.Clone(failed)
	delete(out, refusal.Exited.Word())
	delete(out, refusal.Zombie.Word())
	return out
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

// MainFailure is the most frequent reason of unexpected failures; ok false: there was none.
func MainFailure(failed map[string]int64) (main refusal.Reason, ok bool) {
	names := byFrequency(UnexpectedFailures(failed))
	if len(names) == 0 {
		return refusal.Other, false
	}
	return refusal.OfWord(names[0]), true
}

// NoSamples explains a recording without samples. threads is the expression that chose threads; "": all.
func NoSamples(s *runstats.Stats, threads string) error {
	if main, ok := MainFailure(s.Failed); ok {
		return exit.With(exit.NoSamples, "no samples: %s%s; %s", whyFailed(main), Reasons(s.Failed), main.NextStep())
	}
	why := "no thread was sampled before the recording ended"
	next := "record longer"
	if s.Failed[refusal.Exited.Word()]+s.Failed[refusal.Zombie.Word()] > 0 {
		why, next = "all threads exited before they were sampled", "record a process that runs longer"
	}
	if rate := tryHigherRate(s); rate != "" {
		next += ", or " + rate
	}
	if s.Attempted == 0 && s.Ticks > 0 && threads != "" {
		why, next = "no thread matches --threads", "check the regular expression"
	}
	return exit.With(exit.NoSamples, "no samples: %s%s; %s", why, Reasons(s.Failed), next)
}

func whyFailed(r refusal.Reason) string {
	switch r {
	case refusal.Traced:
		return "another tracer is attached"
	case refusal.Denied:
		return "the kernel denied access"
	case refusal.NoFiles:
		return "too many open files in prywalk"
	case refusal.MaxPause:
		return "stops were expected to take longer than --max-pause"
	case refusal.Timeout:
		return "no thread could be stopped"
	}
	return "all observations failed"
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
