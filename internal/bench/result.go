// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"prywalk/internal/bench/tools"
	"prywalk/internal/schema"
)

// Result is what a run of the benchmark found; its JSON is part of the contract.
type Result struct {
	schema.Head
	Machine Machine `json:"machine"`
	Rows    []Row   `json:"rows"`
	// Skipped says, for each peer that was not measured somewhere, why.
	Skipped []string `json:"skipped,omitempty"`
}

// Machine tells where it was measured.
type Machine struct {
	Kernel     string `json:"kernel"`
	Processors int    `json:"processors"`
	Model      string `json:"model,omitempty"`
	Prywalk    string `json:"prywalk"`
	Scheduling string `json:"scheduling,omitempty"`
	// Load is the load average of the minute before the run.
	Load float64 `json:"load"`
}

// Row is one tool on one target at one frequency. What a tool does not tell is nil.
type Row struct {
	// Workload is the kind of work, "" for busy threads among sleepers.
	Workload string  `json:"workload,omitempty"`
	Threads  int     `json:"threads"`
	Running  int     `json:"running"`
	Depth    int     `json:"depth,omitempty"`
	Freq     float64 `json:"freq"`
	Pairs    int     `json:"pairs"`
	// Ratio is the median of throughput with / without; Low and High delimit its
	// 95 % interval.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"ratio_low"`
	High  float64 `json:"ratio_high"`
	// Wide: the time for this row ended before the interval was as narrow as was asked for.
	Wide bool `json:"interval_wide,omitempty"`
	// Ratios are those of the pairs, in ascending order.
	Ratios []float64 `json:"ratios,omitempty"`
	// Others is what other programs and the hypervisor took in the windows without the
	// tool, as a share of one processor.
	Others *float64 `json:"others,omitempty"`
	// Stolen is what the hypervisor took in the windows with the tool, as a share of one processor.
	Stolen *float64 `json:"stolen,omitempty"`

	StopsPerS       *float64 `json:"stops_per_s,omitempty"`
	SyscallsPerTick *float64 `json:"syscalls_per_tick,omitempty"`
	BytesPerTick    *float64 `json:"bytes_per_tick,omitempty"`
	// CPUSelf is the share of one processor that the tool took while it sampled, and
	// CPUAfter what it took in the end, for each second of sampling.
	CPUSelf  *float64 `json:"cpu_self,omitempty"`
	CPUAfter *float64 `json:"cpu_after,omitempty"`
	MemoryMB *float64 `json:"memory_mb,omitempty"`
	// RecordingMB is the size of a minute of the recording, names and all that is there once included.
	RecordingMB *float64 `json:"recording_mb_per_minute,omitempty"`
	// SamplesPerS are stacks delivered in a second, AskedPerS those asked for: of all
	// threads, or of those that run where the tool looks at no others.
	SamplesPerS float64       `json:"samples_per_s"`
	AskedPerS   float64       `json:"asked_per_s"`
	Complete    *float64      `json:"complete,omitempty"`
	Freeze      *tools.Freeze `json:"freeze_us,omitempty"`
	Latency     *Latency      `json:"latency_us,omitempty"`
	// Peer is the tool that was measured, "" for prywalk itself.
	Peer string `json:"peer,omitempty"`
}

// Latency has how long the target waited, without and with sampling.
type Latency struct {
	Without Waits `json:"without"`
	With    Waits `json:"with"`
	// P999 is how many times as long the 99.9 % quantile is with sampling.
	P999 *Change `json:"p999_change,omitempty"`
}

// Change is a figure with sampling divided by the same without, with its 95 % interval.
type Change struct {
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Waits has lengths of waits in microseconds.
type Waits struct {
	N    uint64  `json:"n"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
}

// ByWorkload sorts the rows by their kind of work, in the order of first appearance.
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
