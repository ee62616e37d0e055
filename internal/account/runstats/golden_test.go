// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"prywalk/internal/host/cgroup"
)

var update = flag.Bool("update", false, "write the golden files anew")

func filled() *Stats {
	s := &Stats{}
	s.Ticks, s.MissedTicks, s.Attempted, s.Stops, s.PassiveReads, s.Unchanged = 1, 2, 3, 4, 5, 6
	s.Engine, s.EngineNote = "perf", "a note"
	s.KernelSampled, s.UnassignedSamples, s.LostSamples, s.SampleStack = 7, 8, 9, 11
	s.Inferred, s.RanInBackoff, s.LeftToLaterTick, s.TicksWithheld = 12, 13, 14, 15
	s.Failed, s.Incomplete = map[string]int64{"exited": 16, "denied": 17}, map[string]int64{"depth": 18}
	s.Whole = WholeByHow{ByStop: 19, ByPassiveRead: 20}
	s.Restarted, s.Broken, s.ReportedTwice = 21, 22, 23
	s.BrokenCalls, s.ReportedTwiceCalls = map[string]int64{"read": 24}, map[string]int64{"futex": 25}
	s.FramesByMethod = map[string]int64{"cfi": 26}
	s.StopTime = Quantiles[Nanos]{N: 4, P50: 27_001, P99: 28_002, Max: 29_003}
	s.StopTimes = []Bucket{{Below: 30_500, N: 31}, {Below: 32_000, N: 33}}
	s.LongStops = Causes{"copy": {N: 34, Max: 35_100}, "lock": {N: 36, Max: 37_000}}
	s.LateStops = LongEvents{N: 38, Max: 39_900}
	s.CopiedBytes = Quantiles[int64]{N: 4, P50: 40, P99: 41, Max: 42}
	s.Lost, s.ThreadsMax, s.Seconds, s.Freq = 43.5, 44, 45.25, 46.125
	s.FreqAsked, s.MaxOverhead, s.MaxPause, s.Subset, s.NotDrawn = 47, 0.48, 49_500, 50, 51
	s.SelfCPU, s.TargetCPU, s.ProfiledCPU = 57.5, 58.5, 59.5
	s.UnobservedCPU, s.ExitedUnseenCPU, s.ShortLivedCPU, s.EstimatedCPU = 183.875, 61.25, 62.125, 63.5
	s.ProgramCPU, s.IncompleteCPU = 76.5, map[string]float64{"depth": 1.5}
	s.NotObserved, s.Gaps, s.LongestGap, s.Suspended = 64.5, 65, 66.5, 67.5
	s.Samples, s.Complete, s.Stacks, s.Scheduling = 68, 69, 70, "fifo"
	s.Quota, s.TicksWithheldByQuota, s.StopsThrottled = 0.71, 72, 74
	s.FrozenTargets = []FrozenTarget{{PID: 197, Cgroup: "/cg/a", AtStart: true}}
	s.TargetQuotas = []cgroup.Throttling{{PID: 193, CPUs: 0.5, Periods: 194, ThrottledPeriods: 195, Seconds: 196.5}}
	s.Syscalls = 75
	return s
}

// Scripts read --stats: fields, order, units, and which are left out, must stay.
func TestStatsKeepTheirFormAndOrder(t *testing.T) {
	empty := &Stats{}
	empty.Syscalls = 75
	fallback := filled()
	fallback.EngineNote, fallback.FallbackNote = "why not", ""
	for name, s := range map[string]*Stats{
		"filled.json": filled(), "empty.json": empty, "fallback.json": fallback,
	} {
		var got bytes.Buffer
		if err := WriteJSON(&got, s); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, &got, want)
		}
	}
}
