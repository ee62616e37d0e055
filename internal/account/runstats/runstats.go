// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"encoding/json"
	"time"

	"prywalk/internal/base/schema"
	"prywalk/internal/host/cgroup"
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
	CPU
	ObservationGaps
	Attributed
	OwnQuota
	// TargetQuotas are the CPU quotas of the targets' control groups that throttled a group while it was recorded;
	// absent: none did.
	TargetQuotas []cgroup.Throttling `json:"target_quotas,omitempty"`
	// FrozenTargets are the targets with a control group that was found frozen; it is checked at most once a second,
	// more rarely with many processes.
	FrozenTargets []FrozenTarget `json:"frozen_targets,omitempty"`
	// Goroutines counts the waiting goroutines of Go programs; absent: there was none.
	Goroutines *WaitingTasks `json:"goroutines,omitempty"`
	// Tasks counts the waiting tasks of Python's asyncio; absent: there was none.
	Tasks *WaitingTasks `json:"tasks,omitempty"`
	// Syscalls is the number of prywalk's own system calls, without those of the Go runtime.
	Syscalls int64 `json:"syscalls"`
}

// Observations count ticks and observations.
type Observations struct {
	// Ticks are the ticks that were done.
	Ticks int64 `json:"ticks"`
	// MissedTicks are the ticks that were omitted because they came a whole period late, the aggregator was too far
	// behind, or a garbage collection was due.
	MissedTicks int64 `json:"missed_ticks"`
	// Attempted is the number of observations of single threads: Stops + PassiveReads + Unchanged + the sum of Failed.
	Attempted int64 `json:"attempted"`
	// Stops are the observations for which the thread was stopped.
	Stops int64 `json:"stopped"`
	// PassiveReads are the observations of sleeping threads that were read without a stop.
	PassiveReads int64 `json:"read_passively"`
	// Unchanged are the observations of threads that had not run since their last stack was read, so that it holds.
	Unchanged int64 `json:"unchanged"`
}

// Observed is how running threads were observed.
type Observed struct {
	// Engine is how running threads were sampled: "perf" (by the kernel), "ptrace" (by stops), or "perf, then ptrace".
	Engine string `json:"engine"`
	// EngineNote names the processes that ptrace sampled though perf events work, or is why wanted perf events are
	// missing.
	EngineNote string `json:"engine_note,omitempty"`
	// FallbackNote names the processes that ptrace sampled though perf events work. If it is empty, EngineNote is why
	// wanted perf events are missing, if they are.
	FallbackNote string `json:"-"`
	// Tracer is which other tracer refused observations, and what to do, if that is known.
	Tracer string `json:"-"`
	// KernelSampled are the kernel's samples of running threads; they are no part of Attempted.
	KernelSampled int64 `json:"kernel_sampled"`
	// UnassignedSamples are kernel samples of threads that ended before their clocks were read again, and of processes
	// that were never opened. They are not in the profile; they decide which stacks get the time of ended
	// threads.
	UnassignedSamples int64 `json:"unassigned_samples"`
	// LostSamples are kernel samples, of all programs, that were dropped because a buffer was full. The rest of
	// a buffer after a malformed record counts as one.
	LostSamples int64 `json:"lost_samples"`
	// SampleStack is the number of bytes of stack in each kernel sample.
	SampleStack int `json:"sample_stack_bytes,omitempty"`
}

// Unobserved count ticks at which a thread was not observed, or in vain.
type Unobserved struct {
	// Inferred are ticks at which a thread that had slept for long was not observed, and the next observation found
	// that it had slept on. They count as samples.
	Inferred int64 `json:"inferred"`
	// RanInBackoff are ticks at which a thread that had slept for long was not observed, and the next observation found
	// that it had run.
	RanInBackoff int64 `json:"ran_in_backoff"`
	// LeftToLaterTick are ticks at which a thread was not observed because its last stop was pending, too little of
	// prywalk's CPU quota was left, over 64 MB of copied stacks waited to be walked, the thread waited for a CPU, or an
	// exec was possible; they are no part of Attempted.
	LeftToLaterTick int64 `json:"left_to_later_tick"`
	// TicksWithheld are ticks omitted because targets had lost, or prywalk had used, more than MaxOverhead.
	TicksWithheld int64 `json:"ticks_withheld"`
	// Failed are observations that gave nothing, by reason: exited, zombie, kernel-thread and 32-bit (the thread is one
	// of these); traced (another tracer is attached); denied (the kernel refused); timeout (no stop within 2 s);
	// max-pause (omitted for --max-pause); busy (too many stops were pending, or an exec replaced the thread); running
	// (the thread ran, and stops were not allowed); in-call (the thread is in a system call that a stop makes fail or
	// begin again); map-lock (the lock of the process's mappings was not free); open-files (prywalk has too many open
	// files); other.
	Failed map[string]int64 `json:"failed"`
	// Unopened are processes that started and were not opened, as prywalk had too many open files, or too
	// many started at once.
	Unopened int64 `json:"processes_unopened,omitempty"`
	// Refused are selected processes that could not be opened, by reason.
	Refused map[string]int64 `json:"processes_refused,omitempty"`
}

// Walks count walks of stacks.
type Walks struct {
	// Incomplete are the walked stacks that do not reach the thread's first function, by stop reason.
	Incomplete map[string]int64 `json:"incomplete"`
	// Whole are the walked stacks that reach the thread's first function, by how the thread was observed.
	Whole WholeByHow `json:"complete_by_how"`
	// FramesByMethod are the frames of all walked stacks by how they were found: context, cfi, fp, heuristic or scan.
	FramesByMethod map[string]int64 `json:"frames_by_method"`
	// WalkedAfterEnd are walked stacks of programs with managed code (Python, Java, ...) that lack its functions, as the
	// process had ended, or called exec, before they were read. They count as complete if their native frames are.
	WalkedAfterEnd int64 `json:"walked_after_end,omitempty"`
}

// WholeByHow are complete stacks, by how they were observed.
type WholeByHow struct {
	// ByStop are those of stopped threads.
	ByStop int64 `json:"stop"`
	// ByPassiveRead are those of threads that were read without a stop.
	ByPassiveRead int64 `json:"passive"`
}

// Calls count what stops did to system calls.
type Calls struct {
	// Restarted are system calls that a stop interrupted and prywalk restarted.
	Restarted int64 `json:"syscalls_restarted"`
	// Broken are system calls that gave EINTR or EAGAIN because of a stop: a restart is unsound or not allowed.
	Broken int64 `json:"syscalls_broken"`
	// BrokenCalls are the calls of Broken by name.
	BrokenCalls map[string]int64 `json:"broken_calls"`
	// ReportedTwice are system calls on names, attributes and mounts that a seccomp supervisor
	// (SECCOMP_RET_USER_NOTIF) could see twice because of a stop.
	ReportedTwice int64 `json:"syscalls_reported_twice"`
	// ReportedTwiceCalls are the calls of ReportedTwice by name.
	ReportedTwiceCalls map[string]int64 `json:"reported_twice_calls"`
}

// Stopped is how long threads were stopped, and why.
type Stopped struct {
	// StopTime is the length of stops, in µs, from the interrupt to the detach, less the time in which the thread waited
	// for a CPU or was still in the kernel.
	StopTime Quantiles[Nanos] `json:"stop_us,omitzero"`
	// LongestStop is the longest.
	LongestStop Stop `json:"-"`
	// StopTimes is the histogram of the lengths of stops by powers of two.
	StopTimes []Bucket `json:"stops,omitempty"`
	// LongStops are stops over 262 µs by the cause that took most of the stop: copy, fault, lock, preempted,
	// stolen, turn or other.
	LongStops Causes `json:"long_stops"`
	// LateStops are interrupts after which a running thread ran on for more than 262 µs; that time is no part of a stop.
	LateStops LongEvents `json:"late_stops"`
	// CopiedBytes are the bytes of stack that a stop copied.
	CopiedBytes Quantiles[int64] `json:"copied_bytes,omitzero"`
	// Lost is an estimate of the time that the targets lost, in seconds: the length of each stop and 10 µs more for
	// cold caches, and 20 µs for each kernel sample.
	Lost float64 `json:"lost_s"`
}

// Nanos is a duration; in JSON it is a number of microseconds.
type Nanos time.Duration

// MarshalJSON implements [json.Marshaler].
func (n Nanos) MarshalJSON() ([]byte, error) { return json.Marshal(float64(n) / 1e3) }

// Duration returns the time in Go's type.
func (n Nanos) Duration() time.Duration { return time.Duration(n) }

// Quantiles are of N values.
type Quantiles[T int64 | Nanos] struct {
	N int64 `json:"-"`
	// P50 is the median.
	P50 T `json:"p50"`
	// P99 is the value that 99 % do not exceed.
	P99 T `json:"p99"`
	// Max is the largest value.
	Max T `json:"max"`
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
	// Below is the bound in µs: a power of two in nanoseconds.
	Below Nanos `json:"below_us"`
	// N is the number of lengths.
	N int64 `json:"n"`
}

// LongEvents counts what took long.
type LongEvents struct {
	// N is the number of them.
	N int64 `json:"n"`
	// Max is the longest, in µs.
	Max Nanos `json:"max_us"`
}

// Add counts one more.
func (l *LongEvents) Add(length time.Duration) {
	l.N++
	l.Max = max(l.Max, Nanos(length))
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
	// ThreadsMax is the largest number of threads at a time.
	ThreadsMax int64 `json:"threads_max"`
	// Backlog is the most bytes of copied stacks that waited to be walked.
	Backlog int64 `json:"-"`
	// Begun is the first tick.
	Begun time.Time `json:"-"`
	// Seconds is the time from the first tick to the last reading of the clocks, in seconds.
	Seconds float64 `json:"duration_s"`
	// Freq is the number of ticks done a second.
	Freq float64 `json:"frequency_got"`
}

// Requested are the options of these names.
type Requested struct {
	// FreqAsked is --freq, in Hz.
	FreqAsked float64 `json:"frequency_asked"`
	// MaxOverhead is --max-overhead, as a fraction of 1; absent: no limit.
	MaxOverhead float64 `json:"max_overhead,omitempty"`
	// MaxPause is --max-pause, in µs; absent: no limit.
	MaxPause Nanos `json:"max_pause_us,omitempty"`
	// Subset is --subset: the most threads that are sampled at a time; absent: all.
	Subset int `json:"subset,omitempty"`
	// NotDrawn are due observations that were left out at random, for Subset or MaxOverhead.
	NotDrawn int64 `json:"not_drawn,omitempty"`
}

// CPU is CPU time, in seconds.
type CPU struct {
	// SelfCPU is prywalk's own CPU time, in seconds.
	SelfCPU float64 `json:"cpu_self_s"`
	// TargetCPU is the CPU time that the kernel charged the targets while they were recorded, in seconds.
	TargetCPU float64 `json:"cpu_target_s"`
	// ProfiledCPU is the CPU time in the profile, in seconds: that of each thread from its creation or first observation
	// on, and that of unobserved children.
	ProfiledCPU float64 `json:"cpu_profiled_s"`
	// IncompleteCPU is the CPU time in the profile under incomplete stacks, in seconds, by stop reason.
	IncompleteCPU map[string]float64 `json:"cpu_incomplete_s"`
	// GuessedCPU is the CPU time in the profile under complete stacks with guessed frames, in seconds.
	GuessedCPU float64 `json:"-"`
	// IncompleteUnobservedCPU is the part of IncompleteCPU in UnobservedCPU.
	IncompleteUnobservedCPU map[string]float64 `json:"-"`
	// UnobservedCPU is the unexplained part of ProfiledCPU, in seconds: no sample covers it. It includes ShortLivedCPU
	// and the time under [exited unseen].
	UnobservedCPU float64 `json:"cpu_unobserved_s"`
	// ExitedUnseenCPU is the part of UnobservedCPU under [exited unseen], in seconds.
	ExitedUnseenCPU float64 `json:"-"`
	// KernelCPU is the CPU time under [kernel], in seconds: known by the clocks, without a stack.
	KernelCPU float64 `json:"-"`
	// EstimatedCPU is the CPU time of ended threads and processes, in seconds, that was divided among the stacks of
	// threads that had just started.
	EstimatedCPU float64 `json:"cpu_estimated_s"`
	// ShortLivedCPU is the part of UnobservedCPU under [short-lived children], in seconds.
	ShortLivedCPU float64 `json:"cpu_short_lived_s"`
	// ProgramCPU is the part of ShortLivedCPU whose program is known, in seconds, an estimate.
	ProgramCPU float64 `json:"cpu_program_estimated_s"`
}

// ObservationGaps is the time without observations, in seconds.
type ObservationGaps struct {
	// NotObserved is the time in which ticks were due and prywalk observed no thread, in seconds.
	NotObserved float64 `json:"not_observed_s"`
	// Gaps is the number of gaps, the pieces of NotObserved.
	Gaps int64 `json:"not_observed_gaps"`
	// LongestGap is the length of the longest gap, in seconds.
	LongestGap float64 `json:"longest_gap_s"`
	// Suspended is how long the host was suspended, in seconds. It is no part of duration_s.
	Suspended float64 `json:"suspended_s"`
}

// Attributed are sums of what was attributed, and the tracer's priority.
type Attributed struct {
	// Samples is the sum of the profile's samples: ticks at which a stack was known, with those of Inferred, and kernel
	// samples.
	Samples int64 `json:"samples"`
	// Complete is the part of Samples with a complete stack.
	Complete int64 `json:"complete"`
	// Stacks are the stacks that were walked.
	Stacks int64 `json:"stacks"`
	// Scheduling is that of the tracer's OS thread: "fifo", "nice" or "normal".
	Scheduling string `json:"scheduling"`
}

// OwnQuota is the CPU quota of prywalk.
type OwnQuota struct {
	// Quota is the CPU quota that binds prywalk, in CPUs; absent: none, or the tracer has a real-time priority.
	Quota float64 `json:"cpu_quota,omitempty"`
	// TicksWithheldByQuota are ticks omitted because too little of the quota was left.
	TicksWithheldByQuota int64 `json:"ticks_withheld_quota"`
	// StopsThrottled are stops of more than 1 ms in which prywalk's cgroup was throttled.
	StopsThrottled int64 `json:"stops_throttled"`
}

// Add adds a later quota, which replaces the former one.
func (q *OwnQuota) Add(later OwnQuota) {
	if later.Quota != 0 {
		q.Quota = later.Quota
	}
	q.TicksWithheldByQuota += later.TicksWithheldByQuota
	q.StopsThrottled += later.StopsThrottled
}

// FrozenTarget is a target that did not run, as its control group was frozen.
type FrozenTarget struct {
	// PID is the target.
	PID int `json:"pid"`
	// Cgroup is the group's directory.
	Cgroup string `json:"cgroup"`
	// AtStart reports that the target was frozen when the recording began. If AtEnd is false, too, it was frozen only in
	// between.
	AtStart bool `json:"at_start"`
	// AtEnd reports that the target was frozen when the recording ended.
	AtEnd bool `json:"at_end"`
}

// WaitingTasks are tasks without a thread while they wait, observed on a clock of their own; not in [Observations]
// and [Attributed].
type WaitingTasks struct {
	// MostAtOnce is the largest number of records of tasks in a process at a time, ended ones included.
	MostAtOnce int64 `json:"most"`
	// Unread are records that were not read before their process ended. They are not in the profile.
	Unread int64 `json:"unread,omitempty"`
	// Observations is how often a waiting task was observed.
	Observations int64 `json:"observations"`
	// Walked are the observations with a walked stack, because the task had run since the last one.
	Walked int64 `json:"walked"`
	// Incomplete are the walked stacks that do not reach the task's first function.
	Incomplete int64 `json:"incomplete"`
	// ChangedInVain are failed attempts, because the task ran each time it was read.
	ChangedInVain int64 `json:"changed"`
	// Blocked is the tasks' blocked time in the profile, in seconds; their samples count no ticks.
	Blocked float64 `json:"blocked_s"`
	// CPU is the part of cpu_self_s that prywalk needed for the tasks, in seconds.
	CPU float64 `json:"cpu_s"`
}
