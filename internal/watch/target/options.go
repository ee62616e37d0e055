// SPDX-License-Identifier: Apache-2.0

package target

import (
	"io"
	"regexp"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/observe"
)

// SamplingOptions select what is sampled, and how.
type SamplingOptions struct {
	// Freq is in ticks per second, MinFreq to MaxFreq.
	Freq float64
	// MaxDepth limits a stack's frames; 0 means frames.DefaultMaxDepth.
	MaxDepth int
	// Threads, if set, matches the names of sampled threads.
	Threads *regexp.Regexp
	// Children adds sampled processes' children.
	Children bool
	// Select, if set, returns the processes to sample; new ones are added, and sampling goes on while there are none.
	// It is called on a goroutine of the Sampler.
	Select func() []int
	// Refused are those of Select that could not be opened, and are not opened again.
	Refused []int
	// Launched is the start of a process launched for this recording ([procmem.BootTicks]), else 0.
	Launched uint64
	// ReadOnly prevents writes of target registers.
	ReadOnly bool
	// Mode forces a way of observation, for measurements.
	Mode observe.Mode
	// MaxPause, if positive, bounds the expected length of a stop.
	MaxPause time.Duration
	// MaxOverhead, if positive, is the share of their CPU time that targets may lose.
	MaxOverhead float64
	// LimitOwnCPU makes MaxOverhead bound prywalk's own CPU time, too, as a share of all CPUs' time.
	LimitOwnCPU bool
	// Subset, if positive, bounds the threads sampled in a tick, except the last. Not with Engine.
	Subset int
	// JITFuncBounds, if set, returns a function for the bounds of a process's JIT-compiled functions, used on the
	// aggregator's goroutine.
	JITFuncBounds func(pid int) func(pc uint64) (start, end uint64, ok bool)
	// Tasks records waiting tasks without a thread, such as goroutines, and labels of running ones.
	Tasks bool
	// OnlyGoroutines leaves out tasks other than goroutines.
	OnlyGoroutines bool
	// Engine, if set, observes running threads in place of stops. The Sampler owns it during Run. Its frequency should
	// be Freq. Without it, WhyNoEngine is the reason to display.
	Engine      EngineSource
	WhyNoEngine string
	// KernelStacks adds sleeping threads' kernel functions, if permitted (CAP_SYS_ADMIN).
	KernelStacks bool
	// Checkpoint is called on the aggregator's goroutine, periodically and on request; all time until then is
	// attributed. What takes longer than a few ms belongs into [Checkpointing.InBackground].
	Checkpoint func(Checkpointing)
	// CheckpointEvery is the least time between periodic checkpoints; 0 means none.
	CheckpointEvery time.Duration

	// Sinks take final intervals, on the aggregator's goroutine. A profile.Watcher also takes open ones, and a
	// profile.Cutter can cut them, at least WatchEvery apart, and at most WatchWithin (0 means 20 s) however long they
	// take.
	Sinks                   []profile.Sink
	WatchEvery, WatchWithin time.Duration

	// LowOverhead saves memory by more collections and smaller pools, and CPU time by rarer searches for processes.
	LowOverhead bool

	// EventLog, if set, takes the attribution's events ([attribute.Recorder]), on the aggregator's goroutine.
	EventLog io.Writer

	// Walked, if set, takes each walk of a tracked process's sample, unless an exec cut it, on the aggregator's
	// goroutine. The Walker is valid until it returns.
	Walked func(*Process, *observe.RawSample, sample.StackID, *frames.Walker)
}

// Checkpointing lets the aggregator handle samples while a checkpoint is written: the names of a large file take
// seconds to read, and a sample that waits so long is walked when its process has ended. Its methods are for the
// aggregator's goroutine.
type Checkpointing interface {
	// Yield handles the samples that wait.
	Yield()
	// InBackground runs work on another goroutine, and handles meanwhile what arrives. here runs a function on the
	// aggregator's goroutine, and returns after it. After a hang or a panic InBackground returns before work does, and
	// here runs nothing.
	InBackground(work func(here func(func())))
}
