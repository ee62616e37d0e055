// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/benchmarks/recordings"
	"prywalk/benchmarks/stats"
	"prywalk/internal/base/statistics"
)

type figures struct {
	// Stacks of threads on a processor or queued for one, and the complete ones.
	Running int64 `json:"running"`
	Whole   int64 `json:"whole"`
	// Classes are the incomplete ones, by reason and place.
	Classes []recordings.Class `json:"classes,omitempty"`
	Stats   runStats           `json:"stats"`
	// Report is of report --json, for -twice.
	Report struct {
		CompleteCPU float64 `json:"complete_cpu"`
	} `json:"report,omitzero"`
}

type spread struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

type longStopsOf struct {
	N     int64   `json:"n"`
	MaxUS float64 `json:"max_us"`
}

type runStats struct {
	Stopped        int64                  `json:"stopped"`
	ReadPassively  int64                  `json:"read_passively"`
	FramesByMethod map[string]int64       `json:"frames_by_method"`
	StopUS         *spread                `json:"stop_us"`
	CopiedBytes    *spread                `json:"copied_bytes"`
	LongStops      map[string]longStopsOf `json:"long_stops"`
	LateStops      longStopsOf            `json:"late_stops"`
	StopTimes      []struct {
		BelowUS float64 `json:"below_us"`
		N       int64   `json:"n"`
	} `json:"stops"`
	DurationS      float64 `json:"duration_s"`
	CPUSelfS       float64 `json:"cpu_self_s"`
	CPUTargetS     float64 `json:"cpu_target_s"`
	CPUUnobservedS float64 `json:"cpu_unobserved_s"`
	CPUProfiledS   float64 `json:"cpu_profiled_s"`
	CPUShortLivedS float64 `json:"cpu_short_lived_s"`
}

// longUS is 2^18 ns, the bound of a long stop (LongStop of package observe).
const longUS = 262.144

func (s *runStats) long() (n int64) {
	for _, b := range s.StopTimes {
		if b.BelowUS > longUS {
			n += b.N
		}
	}
	return n
}

func (f *figures) count(p *profile.Profile) {
	running := &profile.Profile{Sample: slices.DeleteFunc(slices.Clone(p.Sample), func(s *profile.Sample) bool {
		return !slices.Equal(s.Label["state"], []string{"running"}) || recordings.Unobserved(s)
	})}
	for _, s := range running.Sample {
		n := s.Value[recordings.SamplesColumn]
		f.Running += n
		if recordings.StopReason(s) == "" {
			f.Whole += n
		}
	}
	f.Classes = recordings.Classify(running)
}

func (f *figures) share() (share, low, high float64) {
	low, high = statistics.Wilson(float64(f.Whole), float64(f.Running))
	return stats.Ratio(f.Whole, f.Running), low, high
}
