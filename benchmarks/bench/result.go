// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"prywalk/benchmarks/bench/tools"
	"prywalk/internal/base/schema"
)

// Result is the output of --json.
type Result struct {
	schema.Head
	Machine Machine `json:"machine"`
	Rows    []Row   `json:"rows"`
	// Skipped names peers that were not measured somewhere, and why.
	Skipped []string `json:"skipped,omitempty"`
}

// Machine is where it was measured.
type Machine struct {
	Kernel     string `json:"kernel"`
	Processors int    `json:"processors"`
	Model      string `json:"model,omitempty"`
	Prywalk    string `json:"prywalk"`
	Scheduling string `json:"scheduling,omitempty"`
	// Load is the load average of the minute before the run.
	Load float64 `json:"load"`
}

// Row is one tool on one target at one frequency; nil: unknown.
type Row struct {
	// Workload is the kind of work, "" for busy threads among sleeping ones.
	Workload string  `json:"workload,omitempty"`
	Threads  int     `json:"threads"`
	Running  int     `json:"running"`
	Depth    int     `json:"depth,omitempty"`
	Freq     float64 `json:"freq"`
	Pairs    int     `json:"pairs"`
	// Ratio is the median of throughput with / without; Low and High bound its 95 % interval.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"ratio_low"`
	High  float64 `json:"ratio_high"`
	// Wide: time ended before the interval was as narrow as asked for.
	Wide bool `json:"interval_wide,omitempty"`
	// Ratios are those of the pairs, ascending.
	Ratios []float64 `json:"ratios,omitempty"`
	// Others is what other programs and the hypervisor took in windows without the tool, in processors.
	Others *float64 `json:"others,omitempty"`
	// Stolen is what the hypervisor took in windows with the tool, in processors.
	Stolen *float64 `json:"stolen,omitempty"`

	StopsPerS       *float64 `json:"stops_per_s,omitempty"`
	SyscallsPerTick *float64 `json:"syscalls_per_tick,omitempty"`
	BytesPerTick    *float64 `json:"bytes_per_tick,omitempty"`
	// CPUSelf is the tool's CPU time while it sampled, CPUAfter that at its end, for each second of sampling.
	CPUSelf  *float64 `json:"cpu_self,omitempty"`
	CPUAfter *float64 `json:"cpu_after,omitempty"`
	MemoryMB *float64 `json:"memory_mb,omitempty"`
	// RecordingMB is the size of a minute of the recording.
	RecordingMB *float64 `json:"recording_mb_per_minute,omitempty"`
	// SamplesPerS are stacks delivered a second, AskedPerS those asked for: of all threads, or of running ones
	// where the tool samples no others.
	SamplesPerS float64          `json:"samples_per_s"`
	AskedPerS   float64          `json:"asked_per_s"`
	Complete    *float64         `json:"complete,omitempty"`
	StopTimes   *tools.StopTimes `json:"stop_us,omitempty"`
	Latency     *Latency         `json:"latency_us,omitempty"`
	// Peer is the tool, "" for prywalk.
	Peer string `json:"peer,omitempty"`
}

// Latency is how long the target waited, without and with sampling.
type Latency struct {
	Without Waits `json:"without"`
	With    Waits `json:"with"`
	// P999 is the factor of the 99.9 % quantile.
	P999 *Change `json:"p999_change,omitempty"`
}

// Change is a figure with sampling divided by that without, with its 95 % interval.
type Change struct {
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Waits are lengths of waits in microseconds.
type Waits struct {
	N    uint64  `json:"n"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
}

// ByWorkload keeps the order of first appearance.
func (r *Result) ByWorkload() (names []string, byName map[string][]Row) {
	byName = map[string][]Row{}
	for _, row := range r.Rows {
		name := row.WorkloadName()
		if byName[name] == nil {
			names = append(names, name)
		}
		byName[name] = append(byName[name], row)
	}
	return names, byName
}
