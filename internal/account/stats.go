package account

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

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
	Subset            int                 `json:"subset,omitempty"`
	NotDrawn          int64               `json:"not_drawn,omitempty"`
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
	FreezesThrottled  int64               `json:"freezes_throttled"`
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
	j.CPUQuota, j.QuotaWithheld, j.ThrottledS, j.FreezesThrottled = s.Quota, s.QuotaWithheld, s.Throttled,
		s.FreezesThrottled
	j.FrequencyAsked, j.MaxOverhead, j.MaxPauseUS = s.FreqAsked, s.MaxOverhead, micros(int64(s.MaxPause))
	j.Subset, j.NotDrawn = s.Subset, s.NotDrawn
	for _, b := range s.Freezes {
		j.Freezes = append(j.Freezes, bucketJSON{micros(b.Below), b.N})
	}
	for i := range s.Rates {
		r := &s.Rates[i]
		j.ThreadRates = append(j.ThreadRates, rateJSON{r.PID, r.TID, r.Name, r.Looks, r.Rate()})
	}
}

// WriteJSON writes what a run did as JSON.
func WriteJSON(w io.Writer, s *sampler.Stats) error {
	j := statsJSON{
		Ticks: s.Ticks, MissedTicks: s.MissedTicks, Attempted: s.Attempted, Frozen: s.Frozen, Peeked: s.Peeked,
		Reused: s.Reused, Inferred: s.Inferred, Unseen: s.Unseen, Failed: s.Failed, Incomplete: s.Incomplete,
		SyscallsRestarted: s.Restarted,
		Engine:            s.Engine, EngineNote: cmp.Or(s.EngineNote, s.NoEvents), Sampled: s.Sampled, Claimed: s.Claimed,
		LostSamples:      s.LostSamples,
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

// Full is the line that the recording keeps: what heads a report, and after a bar the rest.
func Full(s *sampler.Stats) string {
	return fmt.Sprintf("prywalk: %s | %d ticks (%d missed, %.1f/s), %d looks = %d frozen + %d peeked + %d reused + %d "+
		"failed%s, and %d samples; "+
		"%s of %d samples with complete stacks%s; longest freeze %s (p50 %s%s); looks by thread %s%s; "+
		"cpu %.3f s by the kernel, %.3f s in the profile, %.3f s of it not observed%s; %s",
		brief(s), s.Ticks, s.MissedTicks, s.Freq, s.Attempted, s.Frozen, s.Peeked, s.Reused, Sum(s.Failed), Reasons(s.Failed),
		s.Sampled,
		Percent(s.Complete, s.Samples), s.Samples, Reasons(s.Incomplete),
		threeDigits(s.FreezeMax), threeDigits(s.FreezeP50), lengths(s)+longCauses(s), rates(s), withheld(s),
		s.TargetCPU, s.ProfiledCPU, unobservedCPU(s),
		underQuota(s, "; ")+unobserved(s, "; ")+unmet(s, "; ")+harm(s), s.Scheduling+engine(s))
}

// perfEngine says what people need to know where the kernel samples running threads, "" if it does not.
func perfEngine(s *sampler.Stats) string {
	text := ""
	switch {
	case s.EngineNote != "":
		text = ", engine " + s.Engine + " (" + s.EngineNote + ")"
	case s.Engine != "ptrace" && s.Engine != "": // "" where nothing was looked at
		text = ", engine " + s.Engine
	}
	if s.LostSamples > 0 {
		text += fmt.Sprintf(", %s lost", Plural(s.LostSamples, "sample"))
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
		text += fmt.Sprintf(", %s lost", Plural(s.LostSamples, "sample"))
	}
	return text
}
