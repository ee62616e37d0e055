// SPDX-License-Identifier: Apache-2.0

// Package runstats declares what a run of the sampler counts. Each figure has one place: its name, its meaning, and its
// name in the object of --stats, in whose order the fields stand. The tracer, the accountant and the sampler fill in
// their parts, and what tells of a run reads them.
package runstats

import (
	"encoding/json"
	"time"

	"prywalk/internal/schema"
)

// Stats is what a run did.
type Stats struct {
	schema.Head
	Looks
	Observed
	Unlooked
	Walks
	Calls
	Stopped
	Run
	Asked
	PerThread
	CPU
	Unwatched
	Booked
	OwnQuota
	// Syscalls are those that prywalk itself knows of, the Go runtime's not among them.
	Syscalls int64 `json:"syscalls"`
}

// Looks count ticks and looks.
type Looks struct {
	Ticks       int64 `json:"ticks"`
	MissedTicks int64 `json:"missed_ticks"`
	// Attempted is the sum of Frozen, Peeked, Reused and Failed, which has the looks that gave nothing by their reason.
	Attempted int64 `json:"attempted"`
	Frozen    int64 `json:"frozen"`
	Peeked    int64 `json:"peeked"`
	Reused    int64 `json:"reused"`
	// SleptAgain are those of Peeked that found the thread in the same place of the same stack as before, though it had
	// run. They were not walked.
	SleptAgain int64 `json:"slept_again"`
}

// Observed tells how running threads were observed.
type Observed struct {
	// Engine is "ptrace", "perf", or "perf, then ptrace".
	Engine string `json:"engine"`
	// WhyEngine is EngineNote, or why there are no perf events though they were wanted.
	WhyEngine string `json:"engine_note,omitempty"`
	// EngineNote is what of it people are told in each report: which processes were ptrace's though perf was there.
	EngineNote string `json:"-"`
	// Sampled are the kernel's samples of running threads; they are not Attempted. Claimed are those of threads that
	// ended before their clocks were read again, and looks at newborn processes that were never opened. They are no
	// samples of the profile, but have a claim on unseen time.
	Sampled int64 `json:"sampled"`
	Claimed int64 `json:"claimed"`
	// LostSamples found no room in the kernel's buffers or here; they may have been other programs'. LostOfTargets
	// estimates how many were not. ThrottledSamples is how often the kernel sampled less than asked for.
	LostSamples      int64 `json:"lost_samples"`
	LostOfTargets    int64 `json:"lost_samples_of_targets"`
	ThrottledSamples int64 `json:"throttled_samples"`
	// SampleStack is how many bytes of stack came with each.
	SampleStack int `json:"sample_stack_bytes,omitempty"`
}

// Unlooked count ticks of threads that got no look, or one in vain.
type Unlooked struct {
	// Inferred are the ticks at which a thread that was backed off was not looked at, and its next look proved that it
	// had not run. Unseen are those where it had.
	Inferred int64 `json:"inferred"`
	Unseen   int64 `json:"unseen"`
	// Queued are the ticks at which a thread fell due whose last look was still pending: it had not been scheduled,
	// or could not stop. They are not Attempted.
	Queued int64 `json:"queued"`
	// Withheld are the ticks that came while targets had lost more than MaxOverhead allows: nobody was looked at.
	Withheld int64 `json:"ticks_withheld"`
	// LeftOut are those of Ticks at which nobody was looked at: the kernel samples who runs, and all threads had done the
	// same for a while. Those who slept are Inferred or Unseen.
	LeftOut int64 `json:"ticks_left_out"`
	// Failed are the looks that gave nothing, by why.
	Failed map[string]int64 `json:"failed"`
	// Unopened are the children that were never opened, as prywalk had too many open files.
	Unopened int64 `json:"processes_unopened,omitempty"`
}

// Walks count walks of stacks.
type Walks struct {
	// Incomplete are those that did not reach the thread's first function, by why.
	Incomplete map[string]int64 `json:"incomplete"`
	// Whole are those that did.
	Whole WholeByLook `json:"complete_by_look"`
}

// WholeByLook are stacks that are complete, by how they were seen.
type WholeByLook struct {
	Frozen int64 `json:"frozen"`
	Peeked int64 `json:"peeked"`
}

// Calls tell what looks did to system calls.
type Calls struct {
	// Restarted are the system calls that a freeze broke and that began again unseen.
	Restarted int64 `json:"syscalls_restarted"`
	// Broken are those that gave EINTR or EAGAIN to the program, because a restart would not be sound or is not
	// allowed. BrokenCalls are these by the name of the call.
	Broken      int64            `json:"syscalls_broken"`
	BrokenCalls map[string]int64 `json:"broken_calls"`
	// Told are those of which a supervisor was told twice (seccomp user notification).
	Told      int64            `json:"syscalls_told_twice"`
	ToldCalls map[string]int64 `json:"told_twice_calls"`
}

// Stopped tells how long threads were stopped, and what of.
type Stopped struct {
	// FramesByMethod are the frames of all stacks by how they were found.
	FramesByMethod map[string]int64 `json:"frames_by_method"`
	// Freeze are the lengths of freezes, from interrupt to detach less the time queued or at work in the kernel before
	// the stop.
	Freeze Quantiles[Nanos] `json:"freeze_us,omitzero"`
	// LongestFreeze is the longest of them.
	LongestFreeze Freeze `json:"-"`
	// Freezes are all of them by their length, in classes by powers of two.
	Freezes []Bucket `json:"freezes,omitempty"`
	// Long are those over look.LongFreeze (262 µs) by their causes, as ptrace.Cause names them.
	Long Causes `json:"long_freezes"`
	// Late are the interrupts after which a thread went on for longer than that, though it was on a processor. That is
	// no part of the freeze.
	Late Long `json:"late_stops"`
	// Awaited are the waits for the lock of a process's mappings that were made before a stop instead of in it, as far
	// as they took longer than that.
	Awaited Long `json:"awaited_locks"`
	// Copied are the bytes of stack that a freeze copied.
	Copied Quantiles[int64] `json:"copied_bytes,omitzero"`
	// Lost is what the targets lost by being stopped, in seconds: the lengths of all
	// freezes and what a stop costs besides (10 µs each).
	Lost float64 `json:"lost_s"`
}

// Nanos is a time in nanoseconds. JSON has it in microseconds.
type Nanos int64

// MarshalJSON implements [json.Marshaler].
func (n Nanos) MarshalJSON() ([]byte, error) { return json.Marshal(float64(n) / 1e3) }

// Duration is the time as Go has it.
func (n Nanos) Duration() time.Duration { return time.Duration(n) }

// Quantiles are those of N values.
type Quantiles[T int64 | Nanos] struct {
	N   int64 `json:"-"`
	P50 T     `json:"p50"`
	P99 T     `json:"p99"`
	Max T     `json:"max"`
}

// IsZero reports whether there are no values.
func (q Quantiles[T]) IsZero() bool { return q.N == 0 }

// Freeze tells of one freeze whose it was, and how many bytes of stack it copied.
type Freeze struct {
	PID, TID int
	Copied   int64
}

// Bucket counts the lengths below a bound that are not below that of the one before.
type Bucket struct {
	Below Nanos `json:"below_us"` // a power of two
	N     int64 `json:"n"`
}

// Long counts what took long.
type Long struct {
	N   int64 `json:"n"`
	Max Nanos `json:"max_us"` // the longest
}

// Add counts one more.
func (l *Long) Add(ns int64) {
	l.N++
	l.Max = max(l.Max, Nanos(ns))
}

// Causes count what took long by why. Where there is nothing, JSON has an empty object.
type Causes map[string]Long

// MarshalJSON implements [json.Marshaler].
func (c Causes) MarshalJSON() ([]byte, error) {
	if c == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]Long(c))
}

// Run tells of the run as a whole.
type Run struct {
	// ThreadsMax is the most threads that were there at once.
	ThreadsMax int64 `json:"threads_max"`
	// Backlog is the most bytes of copied stacks that waited at once to be walked.
	Backlog int64 `json:"-"`
	// Begun is the moment of the first tick.
	Begun time.Time `json:"-"`
	// Seconds is the time from the first tick to the last reading of the targets' clocks, Freq the ticks a second done.
	Seconds float64 `json:"duration_s"`
	Freq    float64 `json:"frequency_got"`
}

// Asked tells what the sampling was held to: the options of these names.
type Asked struct {
	FreqAsked   float64 `json:"frequency_asked"`
	MaxOverhead float64 `json:"max_overhead,omitempty"`
	MaxPause    Nanos   `json:"max_pause_us,omitempty"`
	Subset      int     `json:"subset,omitempty"`
	// NotDrawn are the looks that were due and left out at random, for Subset or for MaxOverhead.
	NotDrawn int64 `json:"not_drawn,omitempty"`
}

// PerThread tells how often threads were looked at.
type PerThread struct {
	// SlowestThread is the lowest rate of looks a second that a thread which was there for a second or more got.
	SlowestThread float64 `json:"slowest_thread_rate,omitempty"`
	// Rates are the looks that such threads got, of at most the first 10,000 of them.
	Rates []ThreadRate `json:"thread_rates,omitempty"`
}

// ThreadRate is how often a thread was looked at.
type ThreadRate struct {
	PID   int    `json:"pid"`
	TID   int    `json:"tid"`
	Name  string `json:"thread"`
	Looks int64  `json:"looks"` // ticks at which its stack was seen
	// Seconds is the time from its first look to its last, Rate the looks a second in it.
	Seconds float64 `json:"-"`
	Rate    float64 `json:"rate"`
}

// CPU tells of processor time, in seconds.
type CPU struct {
	// SelfCPU is what this process used, TargetCPU what the kernel charged the targets, ProfiledCPU what is in the
	// profile.
	SelfCPU     float64 `json:"cpu_self_s"`
	TargetCPU   float64 `json:"cpu_target_s"`
	ProfiledCPU float64 `json:"cpu_profiled_s"`
	// IncompleteCPU is the part of the profile's under incomplete stacks, by why their walks ended.
	IncompleteCPU map[string]float64 `json:"cpu_incomplete_s"`
	// UnobservedCPU is the part of the profile's that no look stands for: between looks, of threads that were never
	// seen (ExitedUnseenCPU), and ShortLivedCPU.
	UnobservedCPU   float64 `json:"cpu_unobserved_s"`
	ExitedUnseenCPU float64 `json:"-"`
	// EstimatedCPU is the part of the profile's that is of threads that have ended and belongs to no look. It was
	// shared out among the stacks in which newborn threads were met.
	EstimatedCPU float64 `json:"cpu_estimated_s"`
	// ShortLivedCPU is the part of the targets' and the profile's that is of children which ended before they were met.
	// ProgramCPU is the part of that which ticks tell the programs of, as an estimate.
	ShortLivedCPU float64 `json:"cpu_short_lived_s"`
	ProgramCPU    float64 `json:"cpu_program_estimated_s"`
	// ShortRuns are the runs on a processor of threads whose runs take less than a millisecond on average, and
	// ShortRunsCPU is the CPU time of these. SwitchCost is what a timed sleep costs a thread of this process: samples
	// miss at most so much of each run. 0: it was not measured, as it can be of no weight.
	ShortRuns    int64   `json:"short_runs"`
	ShortRunsCPU float64 `json:"cpu_short_runs_s"`
	SwitchCost   Nanos   `json:"switch_us,omitempty"`
}

// Unsampled is the part of the profile's CPU time that samples miss at most, because it is of the switches to and from
// threads with short runs. A function's share is off by no more than that.
func (c *CPU) Unsampled() float64 {
	if c.ProfiledCPU <= 0 {
		return 0
	}
	return min(float64(c.ShortRuns)*float64(c.SwitchCost)/1e9, c.ShortRunsCPU, c.ProfiledCPU) / c.ProfiledCPU
}

// Unwatched tells for how long nobody was looked at, in seconds.
type Unwatched struct {
	// NotObserved is for how long ticks were due and not done, in so many Gaps, the longest of them LongestGap.
	NotObserved float64 `json:"not_observed_s"`
	Gaps        int64   `json:"not_observed_gaps"`
	LongestGap  float64 `json:"longest_gap_s"`
	// Suspended is for how long the machine was suspended; no clock of the recording runs then.
	Suspended float64 `json:"suspended_s"`
}

// Booked is the sum of what was booked.
type Booked struct {
	// Samples is the sum of the profile's samples: ticks at which a stack was
	// seen, Complete of them with a complete one.
	Samples  int64 `json:"samples"`
	Complete int64 `json:"complete"`
	// Stacks were walked.
	Stacks int64 `json:"stacks"`
	// Scheduling is that of the tracer's OS thread: "fifo", "nice" or "normal".
	Scheduling string `json:"scheduling"`
	// PriorityLowered is how often that thread lost its real-time priority for a while because it did not sleep.
	PriorityLowered int64 `json:"priority_lowered,omitempty"`
}

// OwnQuota tells of the CPU quota that prywalk ran under.
type OwnQuota struct {
	// Quota is the tightest, as a share of one processor; 0 if there was none, or prywalk had a real-time priority.
	Quota float64 `json:"cpu_quota,omitempty"`
	// QuotaWithheld are the ticks at which nobody was looked at because too little was left of it.
	QuotaWithheld int64 `json:"ticks_withheld_quota"`
	// Throttled is for how long prywalk's group stood still, in seconds, summed over the processors. FreezesThrottled
	// counts the freezes of more than a millisecond in which it did.
	Throttled        float64 `json:"throttled_s"`
	FreezesThrottled int64   `json:"freezes_throttled"`
}
