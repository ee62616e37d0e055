// SPDX-License-Identifier: Apache-2.0

// Package runstats declares the counts of a run: each with its meaning and its field of --stats, in order.
package runstats

import (
	"encoding/json"
	"time"

	"prywalk/internal/schema"
)

// Stats is what a run did.
type Stats struct {
	schema.Head
	Observations
	Observed
	Unobserved
	Walks
	Calls
	Stopped
	Run
	Requested
	PerThread
	CPU
	ObservationGaps
	Attributed
	OwnQuota
	// TargetQuotas are those of the targets' control groups that throttled them; absent: none did.
	TargetQuotas []Throttling `json:"target_quotas,omitempty"`
	// FrozenTargets are the targets with a control group that was found frozen; it is checked about once a second.
	FrozenTargets []FrozenTarget `json:"frozen_targets,omitempty"`
	// Goroutines are those that wait without a thread; nil: none.
	Goroutines *WaitingTasks `json:"goroutines,omitempty"`
	// Tasks is the same of tasks of asyncio.
	Tasks *WaitingTasks `json:"tasks,omitempty"`
	// Syscalls are those that prywalk counts; the Go runtime's are not among them.
	Syscalls int64 `json:"syscalls"`
}

// Observations count ticks and observations.
type Observations struct {
	Ticks       int64 `json:"ticks"`
	MissedTicks int64 `json:"missed_ticks"`
	// Attempted = Stops + PassiveReads + Unchanged + Failed.
	Attempted    int64 `json:"attempted"`
	Stops        int64 `json:"frozen"`
	PassiveReads int64 `json:"peeked"`
	Unchanged    int64 `json:"reused"`
	// SleptAgain is always 0.
	SleptAgain int64 `json:"slept_again"`
}

// Observed is how running threads were observed.
type Observed struct {
	// Engine is "ptrace", "perf", or "perf, then ptrace".
	Engine string `json:"engine"`
	// WhyEngine names the processes that ptrace sampled though perf events work, or is why wanted perf events are
	// missing.
	WhyEngine string `json:"engine_note,omitempty"`
	// EngineNote names the processes that ptrace sampled though perf events work.
	EngineNote string `json:"-"`
	// Sampled are the kernel's samples of running threads, not in Attempted. Claimed are those of threads that ended
	// before their clocks were read again, and marks of newborn processes never opened: not in the profile, but claims
	// on unobserved time.
	Sampled int64 `json:"sampled"`
	Claimed int64 `json:"claimed"`
	// LostSamples found no room in buffers, of all programs; LostOfTargets estimates the targets' part.
	// ThrottledSamples is how often the kernel sampled less than asked for.
	LostSamples      int64 `json:"lost_samples"`
	LostOfTargets    int64 `json:"lost_samples_of_targets"`
	ThrottledSamples int64 `json:"throttled_samples"`
	// SampleStack is the bytes of stack with each.
	SampleStack int `json:"sample_stack_bytes,omitempty"`
}

// Unobserved count ticks at which a thread was not observed, or in vain.
type Unobserved struct {
	// Inferred are ticks at which a backed-off thread was not observed, and had not run by its next observation;
	// Unseen, and had run.
	Inferred int64 `json:"inferred"`
	Unseen   int64 `json:"unseen"`
	// Queued are ticks at which a thread's last stop was pending; not Attempted.
	Queued int64 `json:"queued"`
	// TicksWithheld are ticks omitted because targets had lost more than MaxOverhead.
	TicksWithheld int64 `json:"ticks_withheld"`
	// TicksLeftOut are those of Ticks without observations: the kernel samples what runs, and no thread changed.
	// Sleepers count as Inferred or Unseen.
	TicksLeftOut int64 `json:"ticks_left_out"`
	// Failed are observations that gave nothing, by reason.
	Failed map[string]int64 `json:"failed"`
	// Unopened are processes that started and were not opened, as prywalk had too many open files.
	Unopened int64 `json:"processes_unopened,omitempty"`
	// Refused are selected processes that could not be opened, by reason.
	Refused map[string]int64 `json:"processes_refused,omitempty"`
}

// Walks count walks of stacks.
type Walks struct {
	// Incomplete are those that did not reach the thread's first function, by reason.
	Incomplete map[string]int64 `json:"incomplete"`
	// Whole are those that did.
	Whole WholeByMethod `json:"complete_by_look"`
}

// WholeByMethod are complete stacks, by how they were observed.
type WholeByMethod struct {
	ByStop        int64 `json:"frozen"`
	ByPassiveRead int64 `json:"peeked"`
}

// Calls count what stops did to system calls.
type Calls struct {
	// Restarted are system calls that a stop interrupted and prywalk restarted.
	Restarted int64 `json:"syscalls_restarted"`
	// Broken are those that gave EINTR or EAGAIN, as a restart is unsound or not allowed; BrokenCalls by name.
	Broken      int64            `json:"syscalls_broken"`
	BrokenCalls map[string]int64 `json:"broken_calls"`
	// ReportedTwice are those that a supervisor saw twice (seccomp user notification).
	ReportedTwice      int64            `json:"syscalls_told_twice"`
	ReportedTwiceCalls map[string]int64 `json:"told_twice_calls"`
}

// Stopped is how long threads were stopped, and why.
type Stopped struct {
	// FramesByMethod are the frames of all stacks by how they were found.
	FramesByMethod map[string]int64 `json:"frames_by_method"`
	// StopTime is the length of stops, from interrupt to detach, less the time queued or in the kernel before the
	// stop.
	StopTime Quantiles[Nanos] `json:"freeze_us,omitzero"`
	// LongestStop is the longest.
	LongestStop Stop `json:"-"`
	// StopTimes is their histogram by powers of two.
	StopTimes []Bucket `json:"freezes,omitempty"`
	// LongStops are stops over observe.LongStop (262 µs) by cause (ptrace.Cause).
	LongStops Causes `json:"long_freezes"`
	// LateStops are interrupts after which a running thread ran on for longer; no part of a stop.
	LateStops LongEvents `json:"late_stops"`
	// AwaitedLocks are longer waits for a process's mmap lock before a stop.
	AwaitedLocks LongEvents `json:"awaited_locks"`
	// CopiedBytes are the bytes of stack that a stop copied.
	CopiedBytes Quantiles[int64] `json:"copied_bytes,omitzero"`
	// Lost is the targets' loss in seconds: all stops and 10 µs for each, and 20 µs for each kernel sample.
	Lost float64 `json:"lost_s"`
}

// Nanos is ns; in JSON µs.
type Nanos int64

// MarshalJSON implements [json.Marshaler].
func (n Nanos) MarshalJSON() ([]byte, error) { return json.Marshal(float64(n) / 1e3) }

// Duration returns the time in Go's type.
func (n Nanos) Duration() time.Duration { return time.Duration(n) }

// Quantiles are of N values.
type Quantiles[T int64 | Nanos] struct {
	N   int64 `json:"-"`
	P50 T     `json:"p50"`
	P99 T     `json:"p99"`
	Max T     `json:"max"`
}

// IsZero reports whether there are no values.
func (q Quantiles[T]) IsZero() bool { return q.N == 0 }

// Stop is a stop's thread and copied bytes of stack.
type Stop struct {
	PID, TID int
	Copied   int64
}

// Bucket counts lengths below a bound, and not below the bucket before.
type Bucket struct {
	Below Nanos `json:"below_us"` // a power of two
	N     int64 `json:"n"`
}

// LongEvents counts what took long.
type LongEvents struct {
	N   int64 `json:"n"`
	Max Nanos `json:"max_us"`
}

// Add counts one more.
func (l *LongEvents) Add(ns int64) {
	l.N++
	l.Max = max(l.Max, Nanos(ns))
}

// Causes count what took long by cause; nil is an empty object.
type Causes map[string]LongEvents

// MarshalJSON implements [json.Marshaler].
func (c Causes) MarshalJSON() ([]byte, error) {
	if c == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]LongEvents(c))
}

// Run is the whole run's.
type Run struct {
	// ThreadsMax is the most threads at once.
	ThreadsMax int64 `json:"threads_max"`
	// Backlog is the most bytes of copied stacks that waited to be walked.
	Backlog int64 `json:"-"`
	// Begun is the first tick.
	Begun time.Time `json:"-"`
	// Seconds is the time from the first tick to the last reading of the clocks, Freq the ticks done a second.
	Seconds float64 `json:"duration_s"`
	Freq    float64 `json:"frequency_got"`
}

// Requested are the options of these names.
type Requested struct {
	FreqAsked   float64 `json:"frequency_asked"`
	MaxOverhead float64 `json:"max_overhead,omitempty"`
	MaxPause    Nanos   `json:"max_pause_us,omitempty"`
	Subset      int     `json:"subset,omitempty"`
	// NotDrawn are due observations left out at random, for Subset or MaxOverhead.
	NotDrawn int64 `json:"not_drawn,omitempty"`
}

// PerThread is how often threads were observed.
type PerThread struct {
	// SlowestThread is the lowest rate of observations of a thread that was there for a second or more.
	SlowestThread float64 `json:"slowest_thread_rate,omitempty"`
	// Rates are those of such threads, at most 10,000.
	Rates []ThreadRate `json:"thread_rates,omitempty"`
}

// ThreadRate is how often a thread was observed.
type ThreadRate struct {
	PID     int    `json:"pid"`
	TID     int    `json:"tid"`
	Name    string `json:"thread"`
	Samples int64  `json:"looks"` // ticks at which its stack was seen
	// Seconds is the time from first to last observation, Rate the observations a second.
	Seconds float64 `json:"-"`
	Rate    float64 `json:"rate"`
}

// CPU is processor time, in seconds.
type CPU struct {
	// SelfCPU is prywalk's, TargetCPU what the kernel charged the targets, ProfiledCPU the profile's.
	SelfCPU     float64 `json:"cpu_self_s"`
	TargetCPU   float64 `json:"cpu_target_s"`
	ProfiledCPU float64 `json:"cpu_profiled_s"`
	// IncompleteCPU is the profile's under incomplete stacks, by stop reason.
	IncompleteCPU map[string]float64 `json:"cpu_incomplete_s"`
	// IncompleteUnobservedCPU is the part of IncompleteCPU in UnobservedCPU.
	IncompleteUnobservedCPU map[string]float64 `json:"-"`
	// UnobservedCPU is the profile's that no sample stands for: between samples, of unobserved threads
	// (ExitedUnseenCPU), and ShortLivedCPU.
	UnobservedCPU   float64 `json:"cpu_unobserved_s"`
	ExitedUnseenCPU float64 `json:"-"`
	// EstimatedCPU is the profile's of ended threads that no sample stands for, shared among the stacks of newborn
	// threads.
	EstimatedCPU float64 `json:"cpu_estimated_s"`
	// ShortLivedCPU is that of unobserved children; ProgramCPU its part with a known program, an estimate.
	ShortLivedCPU float64 `json:"cpu_short_lived_s"`
	ProgramCPU    float64 `json:"cpu_program_estimated_s"`
	// ShortRuns are runs on a processor of threads whose runs take less than 1 ms on average, ShortRunsCPU their CPU
	// time. SwitchCost is the CPU time of a timed sleep: the most that samples miss of a run; 0: not measured, as it
	// has no weight.
	ShortRuns    int64   `json:"short_runs"`
	ShortRunsCPU float64 `json:"cpu_short_runs_s"`
	SwitchCost   Nanos   `json:"switch_us,omitempty"`
}

// Unsampled bounds the CPU time that samples miss at switches of threads with short runs, and so any share's error.
func (c *CPU) Unsampled() float64 {
	if c.ProfiledCPU <= 0 {
		return 0
	}
	return min(float64(c.ShortRuns)*float64(c.SwitchCost)/1e9, c.ShortRunsCPU, c.ProfiledCPU) / c.ProfiledCPU
}

// ObservationGaps is the time without observations, in seconds.
type ObservationGaps struct {
	// NotObserved is the time in which ticks were due and not done, in so many Gaps, the longest LongestGap.
	NotObserved float64 `json:"not_observed_s"`
	Gaps        int64   `json:"not_observed_gaps"`
	LongestGap  float64 `json:"longest_gap_s"`
	// Suspended is how long the machine was suspended; no clock of the recording runs then.
	Suspended float64 `json:"suspended_s"`
}

// Attributed are sums of what was attributed.
type Attributed struct {
	// Samples is the sum of the profile's samples: ticks at which a stack was seen, Complete of them with a
	// complete one.
	Samples  int64 `json:"samples"`
	Complete int64 `json:"complete"`
	// Stacks were walked.
	Stacks int64 `json:"stacks"`
	// Scheduling is that of the tracer's OS thread: "fifo", "nice" or "normal".
	Scheduling string `json:"scheduling"`
	// PriorityLowered is how often it lost its real-time priority for a while because it did not sleep.
	PriorityLowered int64 `json:"priority_lowered,omitempty"`
}

// OwnQuota is the CPU quota of prywalk.
type OwnQuota struct {
	// Quota is the tightest, in processors; 0: none, or a real-time priority.
	Quota float64 `json:"cpu_quota,omitempty"`
	// TicksWithheldByQuota are ticks omitted because too little of it was left.
	TicksWithheldByQuota int64 `json:"ticks_withheld_quota"`
	// Throttled is how long prywalk's group stood still, in seconds, summed over processors. StopsThrottled are
	// stops of more than 1 ms in which it did.
	Throttled      float64 `json:"throttled_s"`
	StopsThrottled int64   `json:"freezes_throttled"`
}

// Throttling is what the CPU quota of a target's control group withheld from it while it was recorded.
type Throttling struct {
	// PID is a target in the group, Cgroup the group's directory.
	PID    int    `json:"pid"`
	Cgroup string `json:"cgroup"`
	// CPUs is the quota in processors.
	CPUs float64 `json:"cpu_quota"`
	// Periods are those in which the group ran; in ThrottledPeriods of these it used up the quota.
	Periods          int64 `json:"periods"`
	ThrottledPeriods int64 `json:"throttled_periods"`
	// Seconds is how long it waited for the next period, summed over processors: run queue time of its threads.
	Seconds float64 `json:"throttled_s"`
}

// FrozenTarget is a target that did not run, as its control group was frozen.
type FrozenTarget struct {
	// PID is the target.
	PID int `json:"pid"`
	// Cgroup is the group's directory.
	Cgroup string `json:"cgroup"`
	// AtStart and AtEnd report that it was frozen when the recording began, and when it ended; neither: only in between.
	AtStart bool `json:"at_start"`
	AtEnd   bool `json:"at_end"`
}

// WaitingTasks are tasks without a thread while they wait, observed on a clock of their own; not in [Observations]
// and [Attributed].
type WaitingTasks struct {
	// MostAtOnce is the most records in a process at once, ended ones included.
	MostAtOnce int64 `json:"most"`
	// Unread are records not read before their process's account ended: too many for that time. They are not in the
	// profile.
	Unread int64 `json:"unread,omitempty"`
	// Observations is how often one was found that waited; Walked those with a walked stack, as the task had run since;
	// Incomplete of these did not end at a goroutine's first function. ChangedInVain are attempts on tasks that ran
	// each time.
	Observations  int64 `json:"seen"`
	Walked        int64 `json:"walked"`
	Incomplete    int64 `json:"incomplete"`
	ChangedInVain int64 `json:"changed"`
	// Blocked is their wall time in the profile, in seconds; their samples count 0 ticks.
	Blocked float64 `json:"blocked_s"`
	// CPU is the processor time of following them, in seconds, part of cpu_self_s.
	CPU float64 `json:"cpu_s"`
}
