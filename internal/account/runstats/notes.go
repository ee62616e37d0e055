// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/base/errs"
)

// maxNotes is for a reader: the rest is in report --account.
const maxNotes = 2

// FirstNotes returns the notes of lists that are not "" and concern most time: all that record and report show.
func FirstNotes(lists ...[]string) []string {
	all := slices.DeleteFunc(slices.Concat(lists...), func(n string) bool { return n == "" })
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(concerns(b), concerns(a)) })
	return all[:min(len(all), maxNotes)]
}

var (
	noteShare  = regexp.MustCompile(`^(?:note: )?(?:[A-Za-z ]+: )?(\d+(?:\.\d+)?)% of `)
	minorNotes = regexp.MustCompile(`^note: [\d,]+ samples? failed|[Tt]ime without a function: |^\[function `)
)

// concerns returns the percentage of time that a note is about: the one in its text; 0 for a minor note; 50 for a note
// on how to get names, which only large rows have; 100 for all others.
func concerns(note string) float64 {
	switch m := noteShare.FindStringSubmatch(note); {
	case m != nil:
		share, _ := strconv.ParseFloat(m[1], 64)
		return share
	case minorNotes.MatchString(note):
		return 0
	case strings.Contains(note, " To get names: "):
		return 50
	}
	return 100
}

// Losses are remarks on what a recording lacks or did to its targets, each with what to do, the most important first.
// What nothing helps against is in [CommentLine] alone.
func Losses(s *Stats) (notes []string) {
	for _, text := range []string{
		disturbedCalls(s), unobserved(s), unopened(s), failuresToMention(s), longStopNote(s), quotaLoweredRate(s),
		endedUnobserved(s, ""), timeBetweenSamples(s), whyIncomplete(s), walkedAfterEnd(s), lossToMention(s),
		unreadGoroutines(s),
	} {
		if text != "" {
			notes = append(notes, "note: "+strings.TrimPrefix(text, ", "))
		}
	}
	return notes
}

// UnrecordedChildren is a note of child processes that were not recorded, and of their CPU time in seconds, 0 if that
// is little. n of them ran on, or with little time live; with n 0 all have exited.
func UnrecordedChildren(n int64, used float64) string {
	who := "exited child processes"
	if n > 0 {
		who = Plural(n, "child process")
	}
	if used == 0 {
		return who + ", not in the recording; --children includes them"
	}
	return fmt.Sprintf("%s used %.1f s of CPU meanwhile, not in the recording; --children includes them, also those "+
		"already running", who, used)
}

var unrecordedChildren = regexp.MustCompile(`^([^,]*?)(?: used (\d+\.\d) s of CPU meanwhile)?, not in the recording; `)

// ReadUnrecordedChildren reads an [UnrecordedChildren]: the processes, and their CPU time in seconds. who is "" of
// another note.
func ReadUnrecordedChildren(note string) (who string, used float64) {
	m := unrecordedChildren.FindStringSubmatch(note)
	if m == nil {
		return "", 0
	}
	used, _ = strconv.ParseFloat(m[2], 64) // "" is 0
	return m[1], used
}

// AtTheEnd begins the note of connections on which no data came back when the recording ended.
const AtTheEnd = "at the end, "

func unreadGoroutines(s *Stats) string {
	g := s.Goroutines
	if g == nil || g.Unread == 0 {
		return ""
	}
	return fmt.Sprintf("%d goroutines were not read before the recording or their process ended (a process had up to "+
		"%d); the time of these is missing; record longer (-d)", g.Unread, g.MostAtOnce)
}

func walkedAfterEnd(s *Stats) string {
	if s.WalkedAfterEnd == 0 {
		return ""
	}
	return fmt.Sprintf(", %s without functions of the program's language: the process had ended, or called exec, before "+
		"they were read; end the recording before the process (-d, Ctrl-C)", Plural(s.WalkedAfterEnd, "stack"))
}

// Fewer failures, or lost samples, than one in fewFailures observations are not mentioned.
const fewFailures = 100

func failuresToMention(s *Stats) string {
	failed := UnexpectedFailures(s.Failed)
	if len(failed) == 0 || fewFailures*Sum(failed) < s.Attempted+s.KernelSampled {
		return ""
	}
	main, _ := MainFailure(failed)
	most := failed[main.Word()] // mostFrequentOmission describes these, unless more ticks were withheld
	switch alone := most == Sum(failed) && most >= s.TicksWithheld && (main == errs.MaxPause || main == errs.Traced); {
	case alone && strings.HasSuffix(timeBetweenSamples(s), mostFrequentOmission(s)):
		return ""
	case alone:
		return mostFrequentOmission(s)
	}
	return fmt.Sprintf("%s failed%s; %s", Plural(Sum(failed), "sample"), Reasons(failed), main.NextStep())
}

// lossToMention leaves out a loss that changes no share.
func lossToMention(s *Stats) string {
	if fewFailures*s.LostSamples < s.Attempted+s.KernelSampled {
		return ""
	}
	return lostSamples(s)
}

func unopened(s *Stats) (text string) {
	if n := s.Unopened; n > 0 {
		text += fmt.Sprintf(", %s not opened (too many open files in prywalk: raise its limit, ulimit -n 4096; or too many "+
			"processes started at once)", Plural(n, "started process"))
	}
	if n := Sum(s.Refused); n > 0 {
		main, _ := MainFailure(s.Refused)
		text += fmt.Sprintf(", %s left out%s: %s", Plural(n, "selected process"), Reasons(s.Refused), main.NextStep())
	}
	return text
}

// minReportedTime is in s.
const minReportedTime = 0.05

// unobserved is about gaps that [timeBetweenSamples] does not name.
func unobserved(s *Stats) string {
	if s.NotObserved < minReportedTime || strings.HasSuffix(timeBetweenSamples(s), tooBusy(s)) {
		return ""
	}
	return tooBusy(s)
}

func tooBusy(s *Stats) string {
	text := fmt.Sprintf("the host was too busy for prywalk for %.1f s, or it was stopped; give it a spare CPU",
		s.NotObserved)
	if s.Scheduling != "fifo" {
		text += ", or CAP_SYS_NICE"
	}
	return text
}

func quotaLoweredRate(s *Stats) string {
	if s.Quota == 0 || s.TicksWithheldByQuota == 0 && s.Freq > ReachedRateShare*s.FreqAsked {
		return ""
	}
	return fmt.Sprintf("rate lowered (CPU quota of prywalk's cgroup is %s of a CPU: %s skipped); give it a larger quota, "+
		"or run it in another cgroup", percentage(s.Quota), Plural(s.TicksWithheldByQuota, "sampling tick"))
}

const minEndedUnobservedShare = 0.02

func endedUnobserved(s *Stats, before string) string {
	lost := s.ShortLivedCPU + s.ExitedUnseenCPU
	if lost < minReportedTime || lost < minEndedUnobservedShare*s.ProfiledCPU {
		return ""
	}
	programs := ""
	if s.ProgramCPU > 0 {
		programs = fmt.Sprintf(", %s of it known by program", Percent(int64(s.ProgramCPU*1e9), int64(s.ShortLivedCPU*1e9)))
	}
	return fmt.Sprintf("%s%.2f s of %.2f s of CPU time is not attributed to a function (%.2f s in short-lived "+
		"children%s, %.2f s in threads that exited before a sample: a higher -F samples more of them)", before, lost,
		s.ProfiledCPU, s.ShortLivedCPU, programs, s.ExitedUnseenCPU)
}

func disturbedCalls(s *Stats) string {
	var b strings.Builder
	if s.Broken > 0 {
		fmt.Fprintf(&b, ", %s interrupted by a stop%s", Plural(s.Broken, "system call"), Reasons(s.BrokenCalls))
	}
	if s.ReportedTwice > 0 {
		fmt.Fprintf(&b, ", %s repeated%s", Plural(s.ReportedTwice, "system call"), Reasons(s.ReportedTwiceCalls))
	}
	if b.Len() > 0 {
		b.WriteString("; kernel samples, or a lower -F, need fewer stops (prywalk doctor -p PID)")
	}
	return b.String()
}
