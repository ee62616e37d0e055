// Package account tells what a run of the sampler did: in a line for people, in the line that a recording keeps, and as
// the object of --stats.
package account

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/exit"
	"prywalk/internal/runstats"
)

// brief is what a user needs of it in each report.
func brief(s *runstats.Stats) string {
	return fmt.Sprintf("%.1f looks a second%s, %s%s%s%s, prywalk's own CPU %.2f s",
		s.Freq, slowest(s), longest(s), failures(s), underQuota(s, ", ")+unobserved(s, ", ")+harm(s), perfEngine(s),
		s.SelfCPU)
}

// slowest tells the rate of the thread that was looked at least, where that is less than the ticks.
func slowest(s *runstats.Stats) string {
	if s.SlowestThread <= 0 || s.SlowestThread > 0.98*s.Freq {
		return ""
	}
	return fmt.Sprintf(" (slowest thread %.1f)", s.SlowestThread)
}

// muchStack is from how many bytes on the copy of a stack is what makes a freeze long.
const muchStack = 256 << 10

// longest tells the longest freeze and what it was: whose, of how much stack, and how much longer than most.
func longest(s *runstats.Stats) string {
	if s.Frozen == 0 {
		return "nothing frozen"
	}
	what := fmt.Sprintf("of thread %d", s.LongestFreeze.TID)
	switch {
	case s.LongestFreeze.Copied >= muchStack:
		what += fmt.Sprintf(", %d KiB of stack", s.LongestFreeze.Copied>>10)
	case s.Frozen > 1 && s.Freeze.Max > 8*s.Freeze.P99:
		what += ", likely delayed by the scheduler"
	}
	if s.Frozen >= 100 {
		what += fmt.Sprintf(", 99 %% below %s", threeDigits(int64(s.Freeze.P99)))
	}
	return fmt.Sprintf("longest freeze %s (%s)", threeDigits(int64(s.Freeze.Max)), what)
}

// threeDigits rounds a time in nanoseconds for people.
func threeDigits(ns int64) time.Duration {
	unit := int64(1)
	for ns/unit >= 1000 {
		unit *= 10
	}
	return time.Duration((ns + unit/2) / unit * unit)
}

// failures tells the looks that failed and should not have.
func failures(s *runstats.Stats) string {
	failed := remarkable(s.Failed)
	if len(failed) == 0 {
		return ""
	}
	return fmt.Sprintf(", %s failed%s", Plural(Sum(failed), "look"), Reasons(failed))
}

// unobserved says for how long nobody was looked at, "" if there was no such time worth a word.
func unobserved(s *runstats.Stats, before string) string {
	var b strings.Builder
	if s.NotObserved >= leastToTell {
		fmt.Fprintf(&b, "%s%.1f s not observed (prywalk was stopped or had to wait: %s, the longest %.1f s)",
			before, s.NotObserved, Plural(s.Gaps, "gap"), s.LongestGap)
	}
	if s.Suspended >= leastToTell {
		fmt.Fprintf(&b, "%s%.1f s not observed (the machine was suspended)", before, s.Suspended)
	}
	return b.String()
}

// underQuota says that the rate was lowered because prywalk itself has a CPU quota, "" if it was not.
func underQuota(s *runstats.Stats, before string) string {
	if s.Quota == 0 || s.QuotaWithheld == 0 && s.Freq > 0.9*s.FreqAsked {
		return ""
	}
	return fmt.Sprintf("%srate lowered (prywalk's control group may use %s of a processor: %s withheld)",
		before, percentage(s.Quota), Plural(s.QuotaWithheld, "tick"))
}

// leastToTell is the least time without looks that people are told of, in seconds.
const leastToTell = 0.05

// lengths is the histogram of the freezes.
func lengths(s *runstats.Stats) string {
	var b strings.Builder
	for _, k := range s.Freezes {
		if k.N > 0 {
			fmt.Fprintf(&b, ", %d below %s", k.N, k.Below.Duration())
		}
	}
	return b.String()
}

// longCauses says why freezes were long.
func longCauses(s *runstats.Stats) string {
	counts := map[string]int64{}
	for cause, l := range s.Long {
		counts[cause] = l.N
	}
	if len(counts) == 0 {
		return ""
	}
	return ", long ones by cause" + Reasons(counts)
}

// rates says how often threads were looked at that were there for a second.
func rates(s *runstats.Stats) string {
	if len(s.Rates) == 0 {
		return "not known"
	}
	all := make([]float64, len(s.Rates))
	for i := range s.Rates {
		all[i] = s.Rates[i].Rate
	}
	slices.Sort(all)
	return fmt.Sprintf("slowest %.1f/s, half of them %.1f/s, fastest %.1f/s", s.SlowestThread, all[len(all)/2],
		all[len(all)-1])
}

// withheld says what was done for --max-overhead, --max-pause and --subset.
func withheld(s *runstats.Stats) string {
	var b strings.Builder
	if s.MaxOverhead > 0 {
		fmt.Fprintf(&b, "; at most %s lost: %d ticks withheld, %.3f ms lost of %.3f s", percentage(s.MaxOverhead), s.Withheld,
			s.Lost*1e3, s.TargetCPU)
	}
	if s.MaxPause > 0 {
		fmt.Fprintf(&b, "; pauses of at most %s: %d freezes left out", s.MaxPause.Duration(), s.Failed["max-pause"])
	}
	if s.Subset > 0 {
		fmt.Fprintf(&b, "; at most %d threads a tick", s.Subset)
	}
	if s.NotDrawn > 0 {
		fmt.Fprintf(&b, "; %d looks left out at random", s.NotDrawn)
	}
	return b.String()
}

// Closing is the line that record ends with.
func Closing(s *runstats.Stats, path string) string {
	return fmt.Sprintf("%s of %s in %.1f s at %.1f/s%s, %s with complete stacks, %s%s%s%s%s, "+
		"prywalk's own CPU %.2f s → %s",
		Plural(s.Samples, "sample"), Plural(s.ThreadsMax, "thread"), s.Seconds, s.Freq, slowest(s),
		Percent(s.Complete, s.Samples),
		longest(s), failures(s), underQuota(s, ", ")+unobserved(s, ", ")+unmet(s, ", "), harm(s), perfEngine(s), s.SelfCPU,
		path)
}

// leastUnmet is the least share of the processor time, of those that nobody met, that people are told of.
const leastUnmet = 0.02

// unmet says how much processor time has no function because those who used it were born and gone unseen, "" if that
// is not worth a word.
func unmet(s *runstats.Stats, before string) string {
	lost := s.ShortLivedCPU + s.ExitedUnseenCPU
	if lost < leastToTell || lost < leastUnmet*s.ProfiledCPU {
		return ""
	}
	programs := ""
	if s.ProgramCPU > 0 {
		programs = fmt.Sprintf(", %s of which by program", Percent(int64(s.ProgramCPU*1e9), int64(s.ShortLivedCPU*1e9)))
	}
	return fmt.Sprintf("%s%.2f s of %.2f s of CPU time have no function (%.2f s of short-lived children%s, %.2f s of "+
		"threads that ended unseen)", before, lost, s.ProfiledCPU, s.ShortLivedCPU, programs, s.ExitedUnseenCPU)
}

// TooShort is the closing line of a command that ended before it was looked at.
func TooShort(s *runstats.Stats, path string) string {
	seen := "nothing was seen of it"
	if s.ProfiledCPU > 0 {
		seen = fmt.Sprintf("the %s of CPU time that it used are [exited unseen]", threeDigits(int64(s.ProfiledCPU*1e9)))
	}
	return fmt.Sprintf("the command ended before the first look: 0 samples, %s; a higher -F looks sooner → %s", seen, path)
}

// harm says which system calls of the target did not go unharmed; nothing if all did.
func harm(s *runstats.Stats) string {
	var b strings.Builder
	if s.Broken > 0 {
		fmt.Fprintf(&b, ", %s broken%s", Plural(s.Broken, "system call"), Reasons(s.BrokenCalls))
	}
	if s.Told > 0 {
		fmt.Fprintf(&b, ", %s told twice%s", Plural(s.Told, "system call"), Reasons(s.ToldCalls))
	}
	return b.String()
}

// remarkable leaves out the failures that are in the nature of things: a thread that
// has ended.
func remarkable(failed map[string]int64) map[string]int64 {
	out := maps.Clone(failed)
	delete(out, "exited")
	delete(out, "zombie")
	return out
}

// Plural counts things.
func Plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Sum adds up counts.
func Sum(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// Reasons lists counts by name, most first, in brackets.
func Reasons(m map[string]int64) string {
	if len(m) == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return int(m[b] - m[a]) })
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %d", n, m[n])
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// NoSamples explains an empty recording of the threads that a regular expression chose, "" for all.
func NoSamples(s *runstats.Stats, threads string) error {
	why := "nothing was seen before it ended"
	next := "record a process that lives longer"
	switch {
	case s.Failed["traced"] > 0:
		why, next = "every thread is already traced", "detach the debugger, or look at another process"
	case s.Failed["denied"] > 0:
		why, next = "the kernel denied every look", "prywalk doctor -p PID names the cause"
	case s.Failed["exited"] > 0:
		why = "its threads ended before they could be looked at"
	case s.Attempted == 0 && s.Ticks > 0 && threads != "":
		why, next = "no thread was selected", "check --threads"
	case s.Failed["timeout"] > 0:
		why, next = "no thread could be stopped", "is it in uninterruptible sleep or in a frozen cgroup?"
	}
	return exit.With(exit.NoSamples, "no samples: %s%s; %s", why, Reasons(s.Failed), next)
}

// Percent gives a share of the whole. It never rounds up to all of it.
func Percent(part, whole int64) string {
	if whole == 0 {
		return "0%"
	}
	if part == whole {
		return "100%"
	}
	return fmt.Sprintf("%.1f%%", float64(part*1000/whole)/10)
}

// percentage writes a share as the flag takes it.
func percentage(v float64) string { return strconv.FormatFloat(100*v, 'g', -1, 64) + "%" }
