// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"cmp"
	"fmt"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/incomplete"
)

func cpuCompleteness(s *Stats) (c incomplete.Completeness) {
	complete, unobserved := s.ProfiledCPU-s.UnobservedCPU-s.KernelCPU, s.UnobservedCPU+s.KernelCPU
	for reason, v := range s.IncompleteCPU {
		between := s.IncompleteUnobservedCPU[reason]
		c.Add(v-between, true, reason, incomplete.AnyCode)
		c.Add(between, false, reason, incomplete.AnyCode)
		complete, unobserved = complete-(v-between), unobserved-between
	}
	c.AddGuessed(s.GuessedCPU)
	c.Add(complete-s.GuessedCPU, true, "", "")
	c.Add(unobserved, false, "", "")
	return c
}

// CPU time up to littleCPU of the duration or of fewTicks has so few samples that chance decides how much lies between
// them: the share of samples is shown.
const (
	littleCPU = 0.01
	fewTicks  = 20
)

// hasLittleCPU takes the rate of the ticks.
func hasLittleCPU(s *Stats, freq float64) bool {
	return s.ProfiledCPU <= littleCPU*s.Seconds || freq > 0 && s.ProfiledCPU*freq < fewTicks
}

func completeCPU(s *Stats) string {
	if hasLittleCPU(s, s.Freq) {
		return Percent(s.Complete, s.Samples) + " of samples with complete stacks"
	}
	c := cpuCompleteness(s)
	return c.Text("CPU ", percentOf)
}

// ReachedRateShare is the share of the requested rate from which on the rate counts as reached.
const ReachedRateShare = 0.9

// timeBetweenSamples is "" of targets that hardly run, at the rate that was asked for: a limit that lowers the rate is
// mentioned if they do run.
func timeBetweenSamples(s *Stats) string {
	lost := s.UnobservedCPU - s.ShortLivedCPU - s.ExitedUnseenCPU
	if hasLittleCPU(s, s.FreqAsked) || lost < minReportedTime || lost < incomplete.MuchUnsampled*s.ProfiledCPU {
		return ""
	}
	return fmt.Sprintf("%s of CPU time has no function: %s", percentOf(lost/s.ProfiledCPU), whyBetweenSamples(s, lost))
}

// whyBetweenSamples takes lost in seconds.
func whyBetweenSamples(s *Stats, lost float64) string {
	if why := mostFrequentOmission(s); why != "" {
		return why
	}
	switch {
	case s.MaxOverhead > 0 && s.Freq < ReachedRateShare*s.FreqAsked:
		return "--max-overhead " + percentage(s.MaxOverhead) + " lowered the rate; " + limitRemedy(s, "--max-overhead")
	case cpuNotObserved(s) >= lost/2:
		return tooBusy(s)
	}
	return `prywalk report --by thread --focus '^\[(ran|not)' shows which threads; a higher -F samples more short runs`
}

// mostFrequentOmission returns "" if no sample was refused, left out or withheld.
func mostFrequentOmission(s *Stats) string {
	traced, maxPause := s.Failed[errs.Traced.Word()], s.Failed[errs.MaxPause.Word()]
	switch most := max(traced, maxPause, s.TicksWithheld); {
	case most == 0:
		return ""
	case traced == most:
		return cmp.Or(s.Tracer, fmt.Sprintf("another tracer had threads (observations refused: %d); detach it", traced))
	case maxPause == most:
		return fmt.Sprintf("%s left out, as expected to take over %s (--max-pause); %s", Plural(maxPause, "stop"),
			s.MaxPause.Duration(), limitRemedy(s, "--max-pause"))
	}
	return fmt.Sprintf("%s left out, as the targets had lost %s of their CPU time (--max-overhead); %s",
		Plural(s.TicksWithheld, "sampling tick"), percentage(s.MaxOverhead), limitRemedy(s, "--max-overhead"))
}

// limitRemedy says what makes stops shorter, or lifts the limit, and what needs few stops.
func limitRemedy(s *Stats, flag string) string {
	if s.Scheduling == "fifo" {
		return flag + " off lifts the limit" + readsOnce
	}
	return "as root or with CAP_SYS_NICE (root in a container: --cap-add=SYS_NICE) stops are shorter" + readsOnce
}

const readsOnce = "; prywalk dump --merge or --locks needs few stops"

// cpuNotObserved estimates the CPU time of all threads while prywalk observed none, in seconds.
func cpuNotObserved(s *Stats) float64 {
	if s.NotObserved < minReportedTime || s.Seconds <= 0 {
		return 0
	}
	return s.NotObserved * s.ProfiledCPU / s.Seconds
}

// percentOf formats a share with one digit; only 1 is 100%.
func percentOf(share float64) string { return Percent(int64(share*1e9), 1e9) }

func whyIncomplete(s *Stats) string {
	c := cpuCompleteness(s)
	e := c.MainReason()
	if e.Reason == "" {
		if text := c.GuessedText("CPU time", percentOf); text != "" {
			return "guessed frames: " + text
		}
		return ""
	}
	return "incomplete stacks: " + e.Text("CPU time", percentOf)
}
