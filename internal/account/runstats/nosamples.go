// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"fmt"
	"maps"
	"time"

	"prywalk/internal/base/errs"
)

// TooShortLine is the last line for a command that exited before a sample.
func TooShortLine(s *Stats, path string) string {
	after := ""
	if s.ProfiledCPU > 0 {
		after = fmt.Sprintf(" after %s of CPU,", formatTime(time.Duration(s.ProfiledCPU*1e9)))
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
func tryHigherRate(s *Stats) string {
	if s.FreqAsked >= shortCommandRate {
		return ""
	}
	return fmt.Sprintf("try -F %d", shortCommandRate)
}

// NoSamples explains a recording without samples. threads is the expression that chose threads, "" if all were chosen.
func NoSamples(s *Stats, threads string) error {
	if main, ok := MainFailure(s.Failed); ok {
		return errs.With(errs.ExitNoSamples, "no samples: %s%s; %s", whyFailed(main), Reasons(s.Failed), main.NextStep())
	}
	why := "no thread was sampled before the recording ended"
	next := "record longer"
	if s.Failed[errs.Exited.Word()]+s.Failed[errs.Zombie.Word()] > 0 {
		why, next = "all threads exited before they were sampled", "record a process that runs longer"
	}
	if rate := tryHigherRate(s); rate != "" {
		next += ", or " + rate
	}
	if s.Attempted == 0 && s.Ticks > 0 && threads != "" {
		why, next = "no thread matches --threads", "check the regular expression"
	}
	return errs.With(errs.ExitNoSamples, "no samples: %s%s; %s", why, Reasons(s.Failed), next)
}

func whyFailed(r errs.Reason) string {
	switch r {
	case errs.Traced:
		return "another tracer is attached"
	case errs.Denied:
		return "the kernel denied access"
	case errs.NoFiles:
		return "too many open files in prywalk"
	case errs.MaxPause:
		return "stops were expected to take longer than --max-pause"
	case errs.Timeout:
		return "no thread could be stopped"
	}
	return "all observations failed"
}

// MainFailure is the most frequent reason of unexpected failures; ok is false if there was none.
func MainFailure(failed map[string]int64) (main errs.Reason, ok bool) {
	names := byFrequency(UnexpectedFailures(failed))
	if len(names) == 0 {
		return errs.Other, false
	}
	return errs.OfWord(names[0]), true
}

// UnexpectedFailures leaves out failures of ended threads.
func UnexpectedFailures(failed map[string]int64) map[string]int64 {
	out := maps.Clone(failed)
	delete(out, errs.Exited.Word())
	delete(out, errs.Zombie.Word())
	return out
}
