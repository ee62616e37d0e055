// SPDX-License-Identifier: Apache-2.0

package main

import (
	"prywalk/benchmarks/recordings"
	"prywalk/benchmarks/stats"
	"prywalk/internal/base/statistics"
)

type complete struct {
	Samples int64 `json:"samples"`
	Whole   int64 `json:"complete"`
	// Low and High are Wilson's 95 % interval.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Running are the samples of threads on a processor or queued for one.
	Running      int64   `json:"running_samples"`
	RunningWhole int64   `json:"running_complete"`
	RunningLow   float64 `json:"running_low"`
	RunningHigh  float64 `json:"running_high"`
	// CPU is the share of the observed CPU time with complete stacks.
	CPU float64 `json:"cpu_complete"`
	// Stops counts the incomplete samples by reason, StopsCPU their CPU time, ns.
	Stops    map[string]int64 `json:"stops,omitempty"`
	StopsCPU map[string]int64 `json:"stops_cpu_ns,omitempty"`
	// Observations counts methods of observation, Frames the methods by which frames were found.
	Observations map[string]int64 `json:"observations"`
	Frames       map[string]int64 `json:"frames_by_method"`
	// ByHow counts the complete ones among Observations. "unchanged" includes inferred ticks.
	ByHow map[string]int64 `json:"complete_by_how,omitempty"`
	// Classes are the incomplete ones by reason and place.
	Classes   []recordings.Class `json:"classes,omitempty"`
	Threads   int64              `json:"threads"`
	Frequency float64            `json:"frequency_got"`
}

func (c *complete) Share() float64 { return stats.Ratio(c.Whole, c.Samples) }

func completeness(r *recording) *complete {
	c := &complete{
		Stops: map[string]int64{}, StopsCPU: map[string]int64{},
		Observations: map[string]int64{"stop": r.stats.Stopped, "passive": r.stats.ReadPassively,
			"unchanged": r.stats.Unchanged},
		Frames: r.stats.FramesByMethod, Threads: r.stats.ThreadsMax, Frequency: r.stats.FrequencyGot,
	}
	var cpu, cpuWhole int64
	for _, s := range r.Sample {
		n, ns := s.Value[recordings.SamplesColumn], s.Value[recordings.CPUColumn]
		reason := recordings.StopReason(s)
		running := len(s.Label["state"]) > 0 && s.Label["state"][0] == "running"
		c.Samples += n
		if running {
			c.Running += n
		}
		if !recordings.Unobserved(s) {
			cpu += ns
		}
		if reason != "" {
			c.Stops[reason] += n
			c.StopsCPU[reason] += ns
			continue
		}
		c.Whole += n
		if running {
			c.RunningWhole += n
		}
		if !recordings.Unobserved(s) {
			cpuWhole += ns
		}
	}
	c.CPU = stats.Ratio(cpuWhole, cpu)
	c.ByHow, c.Classes = r.stats.CompleteByHow, recordings.Classify(r.Profile)
	if c.ByHow != nil {
		c.Observations["unchanged"] = c.Samples - c.Observations["stop"] - c.Observations["passive"]
		c.ByHow["unchanged"] = c.Whole - c.ByHow["stop"] - c.ByHow["passive"]
	}
	c.Low, c.High = wilson(c.Whole, c.Samples)
	c.RunningLow, c.RunningHigh = wilson(c.RunningWhole, c.Running)
	return c
}

func wilson(part, all int64) (low, high float64) {
	return statistics.Wilson(float64(part), float64(all))
}
