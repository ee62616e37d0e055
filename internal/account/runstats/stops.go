// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"prywalk/internal/base/errs"
)

const longCopy = 256 << 10 // in bytes; such a copy explains a long stop

func stopTimes(s *Stats) string {
	if s.Stops == 0 {
		return "no thread was stopped"
	}
	text := "stops ≤ " + formatTime(s.StopTime.Max.Duration())
	if s.Stops >= 100 {
		text += " (p99 " + formatTime(s.StopTime.P99.Duration()) + ")"
	}
	return text
}

func longestStop(s *Stats) string {
	if s.Stops == 0 {
		return "no thread was stopped"
	}
	what := fmt.Sprintf("thread %d", s.LongestStop.TID)
	switch {
	case s.LongestStop.Copied >= longCopy:
		what += fmt.Sprintf(", %d KiB of stack copied", s.LongestStop.Copied>>10)
	case longestStopCause(s) != "":
		what += ", cause: " + longestStopCause(s)
	}
	return fmt.Sprintf("longest stop %s (%s), p99 %s, p50 %s", formatTime(s.StopTime.Max.Duration()), what,
		formatTime(s.StopTime.P99.Duration()), formatTime(s.StopTime.P50.Duration()))
}

// longStop is the length from which on record adds a note.
const longStop = 50 * time.Millisecond

func longStopNote(s *Stats) string {
	if s.Stops == 0 || s.StopTime.Max.Duration() < longStop {
		return ""
	}
	cause := longestStopCause(s)
	next := cmp.Or(longStopRemedy(s, cause), "prywalk report --account counts long stops by cause")
	return fmt.Sprintf(", longest stop %s (thread %d, cause: %s); %s", formatTime(s.StopTime.Max.Duration()),
		s.LongestStop.TID, cmp.Or(cause, "not known"), next)
}

// longestStopCause returns "" if it is not known.
func longestStopCause(s *Stats) string {
	for cause, l := range s.LongStops {
		if l.Max == s.StopTime.Max {
			return cause
		}
	}
	return ""
}

func longStopRemedy(s *Stats, cause string) string {
	switch {
	case cause == "copy" && s.MaxPause == 0:
		return "without --max-pause off, stops that are expected to take over 1 ms are left out"
	case cause == "lock" && s.LongestGap*1e9 >= float64(s.StopTime.Max)/2: // no tick either: a signal or a lock
		return "prywalk was stopped by SIGSTOP (use Ctrl-Z or kill -TSTP, which release threads first), or the target's " +
			"mappings were locked, as by mmap"
	case cause == "lock" && s.MaxPause == 0:
		return "the target's mappings were locked, as by mmap; without --max-pause off this wait is limited"
	case cause == "preempted" && s.Scheduling != "fifo":
		return "root or CAP_SYS_NICE gives prywalk a real-time priority"
	case cause == "turn":
		return "it waited until prywalk had finished another thread; a lower -F makes that rarer"
	case cause == "stolen":
		return "the hypervisor ran other guests; a host that is not shared has no such stops"
	}
	return ""
}

func stopTimeCounts(s *Stats) string {
	var b strings.Builder
	for _, k := range s.StopTimes {
		if k.N > 0 {
			fmt.Fprintf(&b, ", %d below %s", k.N, k.Below.Duration())
		}
	}
	return b.String()
}

func longStopCauses(s *Stats) string {
	counts := map[string]int64{}
	for cause, l := range s.LongStops {
		counts[cause] = l.N
	}
	if len(counts) == 0 {
		return ""
	}
	return ", long stops by cause" + Reasons(counts)
}

// formatTime formats a time with three digits, in the largest unit up to seconds.
func formatTime(d time.Duration) string {
	d = threeDigits(d)
	if d >= time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	text := d.String()
	at := strings.LastIndexAny(text, "0123456789") + 1
	return text[:at] + " " + text[at:]
}

func threeDigits(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return (d + unit/2) / unit * unit
}

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
		fmt.Fprintf(&b, "; --max-pause %s: %d stops left out", s.MaxPause.Duration(), s.Failed[errs.MaxPause.Word()])
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
