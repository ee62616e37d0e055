package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"prywalk/internal/sampler"
)

// statsJSON is the object that --stats writes.
type statsJSON struct {
	Ticks             int64            `json:"ticks"`
	MissedTicks       int64            `json:"missed_ticks"`
	Attempted         int64            `json:"attempted"`
	Frozen            int64            `json:"frozen"`
	Peeked            int64            `json:"peeked"`
	Reused            int64            `json:"reused"`
	Inferred          int64            `json:"inferred"`
	Unseen            int64            `json:"unseen"`
	Failed            map[string]int64 `json:"failed"`
	Incomplete        map[string]int64 `json:"incomplete"`
	SyscallsRestarted int64            `json:"syscalls_restarted"`
	FramesByMethod    map[string]int64 `json:"frames_by_method"`
	FreezeUS          *freezeJSON      `json:"freeze_us,omitempty"`
	ThreadsMax        int64            `json:"threads_max"`
	DurationS         float64          `json:"duration_s"`
	FrequencyGot      float64          `json:"frequency_got"`
	SlowestThreadRate float64          `json:"slowest_thread_rate,omitempty"`
	CPUSelfS          float64          `json:"cpu_self_s"`
	CPUTargetS        float64          `json:"cpu_target_s"`
	CPUProfiledS      float64          `json:"cpu_profiled_s"`
	CPUUnobservedS    float64          `json:"cpu_unobserved_s"`
	Samples           int64            `json:"samples"`
	Complete          int64            `json:"complete"`
	Stacks            int64            `json:"stacks"`
	Scheduling        string           `json:"scheduling"`
}

type freezeJSON struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// writeStats writes what a run did as JSON.
func writeStats(w io.Writer, s *sampler.Stats) error {
	j := statsJSON{
		Ticks: s.Ticks, MissedTicks: s.MissedTicks, Attempted: s.Attempted, Frozen: s.Frozen, Peeked: s.Peeked,
		Reused: s.Reused, Inferred: s.Inferred, Unseen: s.Unseen, Failed: s.Failed, Incomplete: s.Incomplete, SyscallsRestarted: s.Restarted,
		FramesByMethod: s.FramesByMethod, ThreadsMax: s.ThreadsMax, DurationS: s.Seconds, FrequencyGot: s.Freq,
		SlowestThreadRate: s.SlowestThread,
		CPUSelfS:          s.SelfCPU, CPUTargetS: s.TargetCPU, CPUProfiledS: s.ProfiledCPU,
		CPUUnobservedS: s.UnobservedCPU + s.ExitedUnseenCPU,
		Samples:        s.Samples, Complete: s.Complete, Stacks: s.Stacks, Scheduling: s.Scheduling,
	}
	if s.Frozen > 0 {
		j.FreezeUS = &freezeJSON{micros(s.FreezeP50), micros(s.FreezeP99), micros(s.FreezeMax)}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(j)
}

func micros(ns int64) float64 { return float64(ns) / 1e3 }

// accounting is the line that the recording keeps.
func accounting(s *sampler.Stats) string {
	return fmt.Sprintf("prywalk: %d ticks (%d missed, %.1f/s), %d looks = %d frozen + %d peeked + %d reused + %d failed%s; "+
		"%s of %d samples with complete stacks%s; longest freeze %s (p50 %s); slowest thread %.1f/s; "+
		"cpu %.3f s by the kernel, %.3f s in the profile, %.3f s of it not observed; %s",
		s.Ticks, s.MissedTicks, s.Freq, s.Attempted, s.Frozen, s.Peeked, s.Reused, sum(s.Failed), reasons(s.Failed),
		percent(s.Complete, s.Samples), s.Samples, reasons(s.Incomplete),
		time.Duration(s.FreezeMax), time.Duration(s.FreezeP50), s.SlowestThread,
		s.TargetCPU, s.ProfiledCPU, s.UnobservedCPU+s.ExitedUnseenCPU, s.Scheduling)
}

// closing is the line that record ends with.
func closing(s *sampler.Stats, path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s in %.1f s at %.1f/s", plural(s.Samples, "sample"), plural(s.ThreadsMax, "thread"), s.Seconds, s.Freq)
	if s.SlowestThread > 0 {
		fmt.Fprintf(&b, " (slowest thread %.1f/s)", s.SlowestThread)
	}
	fmt.Fprintf(&b, ", %s with complete stacks", percent(s.Complete, s.Samples))
	if s.Frozen > 0 {
		fmt.Fprintf(&b, ", longest freeze %s", time.Duration(s.FreezeMax).Round(time.Microsecond))
	} else {
		b.WriteString(", nothing frozen")
	}
	if failed := remarkable(s.Failed); len(failed) > 0 {
		fmt.Fprintf(&b, ", %s failed%s", plural(sum(failed), "look"), reasons(failed))
	}
	fmt.Fprintf(&b, " → %s", path)
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

// plural counts things.
func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func sum(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// reasons lists counts by name, most first, in brackets.
func reasons(m map[string]int64) string {
	if len(m) == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return int(m[b] - m[a]) })
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %d", n, m[n])
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// noSamples explains an empty recording.
func noSamples(s *sampler.Stats) error {
	why := "nothing was seen before it ended"
	next := "record a process that lives longer"
	switch {
	case s.Failed["traced"] > 0:
		why, next = "every thread is already traced", "detach the debugger, or look at another process"
	case s.Failed["denied"] > 0:
		why, next = "the kernel denied every look", "prywalk doctor -p PID names the cause"
	case s.Failed["exited"] > 0:
		why = "its threads ended before they could be looked at"
	case s.Attempted == 0 && s.Ticks > 0:
		why, next = "no thread was selected", "check --threads"
	case s.Failed["timeout"] > 0:
		why, next = "no thread could be stopped", "is it in uninterruptible sleep or in a frozen cgroup?"
	}
	return &exitError{exitNoSamples, fmt.Errorf("no samples: %s%s; %s", why, reasons(s.Failed), next)}
}
