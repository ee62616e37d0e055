package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"prywalk/internal/procmem"
	"prywalk/internal/sampler"
)

// statsJSON is the object that --stats writes.
type statsJSON struct {
	Ticks             int64               `json:"ticks"`
	MissedTicks       int64               `json:"missed_ticks"`
	Attempted         int64               `json:"attempted"`
	Frozen            int64               `json:"frozen"`
	Peeked            int64               `json:"peeked"`
	Reused            int64               `json:"reused"`
	Engine            string              `json:"engine"`
	EngineNote        string              `json:"engine_note,omitempty"`
	Sampled           int64               `json:"sampled"`
	Claimed           int64               `json:"claimed"`
	LostSamples       int64               `json:"lost_samples"`
	ThrottledSamples  int64               `json:"throttled_samples"`
	SampleStackBytes  int                 `json:"sample_stack_bytes,omitempty"`
	Inferred          int64               `json:"inferred"`
	Unseen            int64               `json:"unseen"`
	Queued            int64               `json:"queued"`
	TicksWithheld     int64               `json:"ticks_withheld"`
	Failed            map[string]int64    `json:"failed"`
	Incomplete        map[string]int64    `json:"incomplete"`
	CompleteByLook    map[string]int64    `json:"complete_by_look"`
	SyscallsRestarted int64               `json:"syscalls_restarted"`
	SyscallsBroken    int64               `json:"syscalls_broken"`
	BrokenCalls       map[string]int64    `json:"broken_calls"`
	SyscallsToldTwice int64               `json:"syscalls_told_twice"`
	ToldCalls         map[string]int64    `json:"told_twice_calls"`
	FramesByMethod    map[string]int64    `json:"frames_by_method"`
	FreezeUS          *freezeJSON         `json:"freeze_us,omitempty"`
	Freezes           []bucketJSON        `json:"freezes,omitempty"`
	LongFreezes       map[string]longJSON `json:"long_freezes"`
	LateStops         longJSON            `json:"late_stops"`
	CopiedBytes       *copiedJSON         `json:"copied_bytes,omitempty"`
	LostS             float64             `json:"lost_s"`
	ThreadsMax        int64               `json:"threads_max"`
	DurationS         float64             `json:"duration_s"`
	FrequencyGot      float64             `json:"frequency_got"`
	FrequencyAsked    float64             `json:"frequency_asked"`
	MaxOverhead       float64             `json:"max_overhead,omitempty"`
	MaxPauseUS        float64             `json:"max_pause_us,omitempty"`
	SlowestThreadRate float64             `json:"slowest_thread_rate,omitempty"`
	ThreadRates       []rateJSON          `json:"thread_rates,omitempty"`
	CPUSelfS          float64             `json:"cpu_self_s"`
	CPUTargetS        float64             `json:"cpu_target_s"`
	CPUProfiledS      float64             `json:"cpu_profiled_s"`
	CPUUnobservedS    float64             `json:"cpu_unobserved_s"`
	CPUEstimatedS     float64             `json:"cpu_estimated_s"`
	CPUShortLivedS    float64             `json:"cpu_short_lived_s"`
	NotObservedS      float64             `json:"not_observed_s"`
	NotObservedGaps   int64               `json:"not_observed_gaps"`
	LongestGapS       float64             `json:"longest_gap_s"`
	SuspendedS        float64             `json:"suspended_s"`
	Samples           int64               `json:"samples"`
	Complete          int64               `json:"complete"`
	Stacks            int64               `json:"stacks"`
	Scheduling        string              `json:"scheduling"`
	CPUQuota          float64             `json:"cpu_quota,omitempty"`
	QuotaWithheld     int64               `json:"ticks_withheld_quota"`
	ThrottledS        float64             `json:"throttled_s"`
	// Syscalls are those that prywalk itself knows of, the Go runtime's not among them.
	Syscalls int64 `json:"syscalls"`
}

type freezeJSON struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// copiedJSON is how many bytes of stack a freeze copied.
type copiedJSON struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// longJSON counts the freezes over 262 µs that have one cause.
type longJSON struct {
	N     int64   `json:"n"`
	MaxUS float64 `json:"max_us"`
}

// bucketJSON counts the freezes shorter than a bound and not than that before.
type bucketJSON struct {
	BelowUS float64 `json:"below_us"`
	N       int64   `json:"n"`
}

// rateJSON is how often a thread was looked at.
type rateJSON struct {
	PID    int     `json:"pid"`
	TID    int     `json:"tid"`
	Thread string  `json:"thread"`
	Looks  int64   `json:"looks"`
	Rate   float64 `json:"rate"`
}

// budget adds what --max-overhead and --max-pause have to do with.
func (j *statsJSON) budget(s *sampler.Stats) {
	j.Queued, j.TicksWithheld, j.LostS = s.Queued, s.Withheld, s.Lost
	j.CPUQuota, j.QuotaWithheld, j.ThrottledS = s.Quota, s.QuotaWithheld, s.Throttled
	j.FrequencyAsked, j.MaxOverhead, j.MaxPauseUS = s.FreqAsked, s.MaxOverhead, micros(int64(s.MaxPause))
	for _, b := range s.Freezes {
		j.Freezes = append(j.Freezes, bucketJSON{micros(b.Below), b.N})
	}
	for i := range s.Rates {
		r := &s.Rates[i]
		j.ThreadRates = append(j.ThreadRates, rateJSON{r.PID, r.TID, r.Name, r.Looks, r.Rate()})
	}
}

// writeStats writes what a run did as JSON.
func writeStats(w io.Writer, s *sampler.Stats) error {
	j := statsJSON{
		Ticks: s.Ticks, MissedTicks: s.MissedTicks, Attempted: s.Attempted, Frozen: s.Frozen, Peeked: s.Peeked,
		Reused: s.Reused, Inferred: s.Inferred, Unseen: s.Unseen, Failed: s.Failed, Incomplete: s.Incomplete, SyscallsRestarted: s.Restarted,
		Engine: s.Engine, EngineNote: cmp.Or(s.EngineNote, s.NoEvents), Sampled: s.Sampled, Claimed: s.Claimed, LostSamples: s.LostSamples,
		ThrottledSamples: s.ThrottledSamples, SampleStackBytes: s.SampleStack,
		SyscallsBroken: s.Broken, BrokenCalls: s.BrokenCalls, SyscallsToldTwice: s.Told, ToldCalls: s.ToldCalls,
		CompleteByLook: map[string]int64{"frozen": s.FrozenWhole, "peeked": s.PeekedWhole},
		FramesByMethod: s.FramesByMethod, ThreadsMax: s.ThreadsMax, DurationS: s.Seconds, FrequencyGot: s.Freq,
		SlowestThreadRate: s.SlowestThread,
		CPUSelfS:          s.SelfCPU, CPUTargetS: s.TargetCPU, CPUProfiledS: s.ProfiledCPU,
		CPUUnobservedS: unobservedCPU(s), CPUEstimatedS: s.EstimatedCPU, CPUShortLivedS: s.ShortLivedCPU,
		NotObservedS: s.NotObserved, NotObservedGaps: s.Gaps, LongestGapS: s.LongestGap, SuspendedS: s.Suspended,
		Samples: s.Samples, Complete: s.Complete, Stacks: s.Stacks, Scheduling: s.Scheduling, Syscalls: procmem.Calls(),
		LongFreezes: map[string]longJSON{}, LateStops: longJSON{s.Late.N, micros(s.Late.Max)},
	}
	if s.Frozen > 0 {
		j.FreezeUS = &freezeJSON{micros(s.FreezeP50), micros(s.FreezeP99), micros(s.FreezeMax)}
		j.CopiedBytes = &copiedJSON{s.CopiedP50, s.CopiedP99, s.CopiedMax}
	}
	for cause, l := range s.Long {
		j.LongFreezes[cause] = longJSON{l.N, micros(l.Max)}
	}
	j.budget(s)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(j)
}

func micros(ns int64) float64 { return float64(ns) / 1e3 }

// unobservedCPU is the part of the profile's processor time that no look stands for, in seconds.
func unobservedCPU(s *sampler.Stats) float64 {
	return s.UnobservedCPU + s.ExitedUnseenCPU + s.ShortLivedCPU
}

// accounting is the line that the recording keeps: what heads a report, and after a bar the rest.
func accounting(s *sampler.Stats) string {
	return fmt.Sprintf("prywalk: %s | %d ticks (%d missed, %.1f/s), %d looks = %d frozen + %d peeked + %d reused + %d sampled + %d failed%s; "+
		"%s of %d samples with complete stacks%s; longest freeze %s (p50 %s%s); looks by thread %s%s; "+
		"cpu %.3f s by the kernel, %.3f s in the profile, %.3f s of it not observed%s; %s",
		brief(s), s.Ticks, s.MissedTicks, s.Freq, s.Attempted, s.Frozen, s.Peeked, s.Reused, s.Sampled, sum(s.Failed), reasons(s.Failed),
		percent(s.Complete, s.Samples), s.Samples, reasons(s.Incomplete),
		threeDigits(s.FreezeMax), threeDigits(s.FreezeP50), lengths(s)+longCauses(s), rates(s), withheld(s),
		s.TargetCPU, s.ProfiledCPU, unobservedCPU(s), underQuota(s, "; ")+unobserved(s, "; ")+harm(s), s.Scheduling+engine(s))
}

// perfEngine says what people need to know where the kernel samples running threads, "" if it does not.
func perfEngine(s *sampler.Stats) string {
	text := ""
	switch {
	case s.EngineNote != "":
		text = ", engine " + s.Engine + " (" + s.EngineNote + ")"
	case s.Engine != "ptrace":
		text = ", engine " + s.Engine
	}
	if s.LostSamples > 0 {
		text += fmt.Sprintf(", %s lost", plural(s.LostSamples, "sample"))
	}
	return text
}

// engine says how running threads were observed, and what was lost.
func engine(s *sampler.Stats) string {
	text := "; engine " + s.Engine
	if s.EngineNote != "" {
		text += " (" + s.EngineNote + ")"
	}
	if s.LostSamples > 0 {
		text += fmt.Sprintf(", %s lost", plural(s.LostSamples, "sample"))
	}
	return text
}

// brief is what a user needs of it in each report.
func brief(s *sampler.Stats) string {
	return fmt.Sprintf("%.1f looks a second%s, %s%s%s%s, prywalk's own CPU %.2f s",
		s.Freq, slowest(s), longest(s), failures(s), underQuota(s, ", ")+unobserved(s, ", ")+harm(s), perfEngine(s), s.SelfCPU)
}

// slowest tells the rate of the thread that was looked at least, where that is less than the ticks.
func slowest(s *sampler.Stats) string {
	if s.SlowestThread <= 0 || s.SlowestThread > 0.98*s.Freq {
		return ""
	}
	return fmt.Sprintf(" (slowest thread %.1f)", s.SlowestThread)
}

// muchStack is from how many bytes on the copy of a stack is what makes a freeze long.
const muchStack = 256 << 10

// longest tells the longest freeze and what it was: whose, of how much stack, and how much longer than most.
func longest(s *sampler.Stats) string {
	if s.Frozen == 0 {
		return "nothing frozen"
	}
	what := fmt.Sprintf("of thread %d", s.LongestFreeze.TID)
	switch {
	case s.LongestFreeze.Copied >= muchStack:
		what += fmt.Sprintf(", %d KiB of stack", s.LongestFreeze.Copied>>10)
	case s.Frozen > 1 && s.FreezeMax > 8*s.FreezeP99:
		what += ", likely delayed by the scheduler"
	}
	if s.Frozen >= 100 {
		what += fmt.Sprintf(", 99 %% below %s", threeDigits(s.FreezeP99))
	}
	return fmt.Sprintf("longest freeze %s (%s)", threeDigits(s.FreezeMax), what)
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
func failures(s *sampler.Stats) string {
	failed := remarkable(s.Failed)
	if len(failed) == 0 {
		return ""
	}
	return fmt.Sprintf(", %s failed%s", plural(sum(failed), "look"), reasons(failed))
}

// unobserved says for how long nobody was looked at, "" if there was no such time worth a word.
func unobserved(s *sampler.Stats, before string) string {
	var b strings.Builder
	if s.NotObserved >= leastToTell {
		fmt.Fprintf(&b, "%s%.1f s not observed (prywalk was stopped or had to wait: %s, the longest %.1f s)",
			before, s.NotObserved, plural(s.Gaps, "gap"), s.LongestGap)
	}
	if s.Suspended >= leastToTell {
		fmt.Fprintf(&b, "%s%.1f s not observed (the machine was suspended)", before, s.Suspended)
	}
	return b.String()
}

// underQuota says that the rate was lowered because prywalk itself has a CPU quota, "" if it was not.
func underQuota(s *sampler.Stats, before string) string {
	if s.Quota == 0 || s.QuotaWithheld == 0 && s.Freq > 0.9*s.FreqAsked {
		return ""
	}
	return fmt.Sprintf("%srate lowered (prywalk's control group may use %s of a processor: %s withheld)",
		before, percentage(s.Quota), plural(s.QuotaWithheld, "tick"))
}

// leastToTell is the least time without looks that people are told of, in seconds.
const leastToTell = 0.05

// lengths is the histogram of the freezes.
func lengths(s *sampler.Stats) string {
	var b strings.Builder
	for _, k := range s.Freezes {
		if k.N > 0 {
			fmt.Fprintf(&b, ", %d below %s", k.N, time.Duration(k.Below))
		}
	}
	return b.String()
}

// longCauses says why freezes were long.
func longCauses(s *sampler.Stats) string {
	counts := map[string]int64{}
	for cause, l := range s.Long {
		counts[cause] = l.N
	}
	if len(counts) == 0 {
		return ""
	}
	return ", long ones by cause" + reasons(counts)
}

// rates says how often threads were looked at that were there for a second.
func rates(s *sampler.Stats) string {
	if len(s.Rates) == 0 {
		return "not known"
	}
	all := make([]float64, len(s.Rates))
	for i := range s.Rates {
		all[i] = s.Rates[i].Rate()
	}
	slices.Sort(all)
	return fmt.Sprintf("slowest %.1f/s, half of them %.1f/s, fastest %.1f/s", s.SlowestThread, all[len(all)/2], all[len(all)-1])
}

// withheld says what was done for --max-overhead and --max-pause.
func withheld(s *sampler.Stats) string {
	var b strings.Builder
	if s.MaxOverhead > 0 {
		fmt.Fprintf(&b, "; at most %s lost: %d ticks withheld, %.3f ms lost of %.3f s", percentage(s.MaxOverhead), s.Withheld, s.Lost*1e3, s.TargetCPU)
	}
	if s.MaxPause > 0 {
		fmt.Fprintf(&b, "; pauses of at most %s: %d freezes left out", s.MaxPause, s.Failed["max-pause"])
	}
	return b.String()
}

// percentage writes a share as the flag takes it.
func percentage(v float64) string {
	f := share(v)
	return f.String()
}

// closing is the line that record ends with.
func closing(s *sampler.Stats, path string) string {
	return fmt.Sprintf("%s of %s in %.1f s at %.1f/s%s, %s with complete stacks, %s%s%s%s%s, prywalk's own CPU %.2f s → %s",
		plural(s.Samples, "sample"), plural(s.ThreadsMax, "thread"), s.Seconds, s.Freq, slowest(s), percent(s.Complete, s.Samples),
		longest(s), failures(s), underQuota(s, ", ")+unobserved(s, ", "), harm(s), perfEngine(s), s.SelfCPU, path)
}

// tooShort is the closing line of a command that ended before it was looked at.
func tooShort(s *sampler.Stats, path string) string {
	seen := "nothing was seen of it"
	if s.ProfiledCPU > 0 {
		seen = fmt.Sprintf("the %s of CPU time that it used are [exited unseen]", threeDigits(int64(s.ProfiledCPU*1e9)))
	}
	return fmt.Sprintf("the command ended before the first look: 0 samples, %s; a higher -F looks sooner → %s", seen, path)
}

// harm says which system calls of the target did not go unharmed; nothing if all did.
func harm(s *sampler.Stats) string {
	var b strings.Builder
	if s.Broken > 0 {
		fmt.Fprintf(&b, ", %s broken%s", plural(s.Broken, "system call"), reasons(s.BrokenCalls))
	}
	if s.Told > 0 {
		fmt.Fprintf(&b, ", %s told twice%s", plural(s.Told, "system call"), reasons(s.ToldCalls))
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

// noSamples explains an empty recording of the threads that a regular expression chose, "" for all.
func noSamples(s *sampler.Stats, threads string) error {
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
	return &exitError{exitNoSamples, fmt.Errorf("no samples: %s%s; %s", why, reasons(s.Failed), next)}
}
