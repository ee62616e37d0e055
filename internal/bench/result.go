package bench

// Result is what a run of the benchmark found; its JSON is part of the contract.
type Result struct {
	Machine Machine `json:"machine"`
	Rows    []Row   `json:"rows"`
}

// Machine tells where it was measured.
type Machine struct {
	Kernel     string `json:"kernel"`
	Processors int    `json:"processors"`
	Model      string `json:"model,omitempty"`
	Prywalk    string `json:"prywalk"`
	Scheduling string `json:"scheduling,omitempty"`
}

// Row is one number of threads at one frequency.
type Row struct {
	Threads int     `json:"threads"`
	Running int     `json:"running"`
	Freq    float64 `json:"freq"`
	Pairs   int     `json:"pairs"`
	// Ratio is the median of throughput with / without; Low and High delimit its
	// 95 % interval.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"ratio_low"`
	High  float64 `json:"ratio_high"`

	StopsPerS       float64 `json:"stops_per_s"`
	SyscallsPerTick float64 `json:"syscalls_per_tick"`
	// CPUSelf is the share of one processor that the profiler took.
	CPUSelf     float64 `json:"cpu_self"`
	SamplesPerS float64 `json:"samples_per_s"`
	Complete    float64 `json:"complete"`
	Freeze      *Freeze `json:"freeze_us,omitempty"`
	// Peer is the tool that was measured, "" for prywalk itself.
	Peer string `json:"peer,omitempty"`
}

// Freeze has the lengths of freezes in microseconds.
type Freeze struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}
