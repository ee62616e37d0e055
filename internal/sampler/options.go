// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"io"
	"regexp"
	"time"

	"prywalk/frames"
	"prywalk/internal/aggregator"
	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/observe"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/tracer"
	"prywalk/internal/waits"
)

// Bounds of the sampling frequency, in ticks per second.
const (
	MinFreq     = 1
	MaxFreq     = 10000
	DefaultFreq = 99
)

// Options select what is sampled, and how.
type Options struct {
	// Freq is the number of ticks per second, MinFreq to MaxFreq.
	Freq float64
	// MaxDepth limits the frames of a stack; 0 means frames.DefaultMaxDepth.
	MaxDepth int
	// Threads, if set, matches the names of the threads to sample.
	Threads *regexp.Regexp
	// Children adds the children of sampled processes.
	Children bool
	// Select, if set, returns the processes to sample; new ones are added. Sampling continues while there are none. It
	// is called on a goroutine of the Sampler.
	Select func() []int
	// Refused are processes of Select that could not be opened before: they are not opened again.
	Refused []int
	// Launched is the start of a process launched for this recording ([BootTicks]), else 0. CPU time of its children
	// counts from then on.
	Launched uint64
	// ReadOnly prevents writes of target registers.
	ReadOnly bool
	// Mode forces one way of observation, for measurements.
	Mode observe.Mode
	// MaxPause, if positive, bounds the expected length of a stop; longer stops are not made.
	MaxPause time.Duration
	// MaxOverhead, if positive, is the share of their time that running threads may lose. The rate adapts to it.
	MaxOverhead float64
	// OfHost makes MaxOverhead a share of all CPUs' time, used or not.
	OfHost bool
	// Subset, if positive, bounds the threads sampled in a tick, drawn at random, except in the last tick. It cannot be
	// used with Engine.
	Subset int
	// JITFuncs, if set, returns a function for the bounds of JIT-compiled functions of a process. It is used on the
	// aggregator's goroutine.
	JITFuncs func(pid int) func(pc uint64) (start, end uint64, ok bool)
	// Tasks records waiting tasks without a thread, such as goroutines, as blocked time, and labels of running ones.
	Tasks bool
	// Engine, if set, is the source of an engine that observes running threads in place of stops. The Sampler owns it
	// during Run. Its frequency should be Freq. Without it, WhyNoEngine is the reason to display.
	Engine      engine.Source
	WhyNoEngine string
	// KernelStacks adds kernel functions to stacks of sleeping threads, if permitted (CAP_SYS_ADMIN).
	KernelStacks bool
	// Checkpoint is called on the aggregator's goroutine periodically and on request. All time until then has been
	// attributed. During long work it must call between every few ms.
	Checkpoint func(between func())
	// CheckpointEvery is the least time between periodic checkpoints; 0 means none.
	CheckpointEvery time.Duration

	// Sinks take final intervals, as the recording does. A profile.Watcher among them takes the open ones, too, at
	// least WatchEvery apart. They are called on the aggregator's goroutine.
	Sinks      []profile.Sink
	WatchEvery time.Duration

	// Thrifty reduces the Sampler's memory by more collections ([selfruntime.Collector]).
	Thrifty bool

	// EventLog, if set, takes the attribution events ([attribute.Recorder]), on the aggregator's goroutine.
	EventLog io.Writer

	// walked and explained are those of [aggregator.Options], for tests.
	walked    func(*handover.Process, *observe.RawSample, sample.StackID, *frames.Walker)
	explained func(*observe.RawSample, *waits.Wait)
	// producer, if set, makes the producer, for tests.
	producer func(*handover.Common, <-chan *handover.Process) handover.Producer
}

func (o *Options) tracerOptions() tracer.Options {
	options := tracer.Options{
		Freq: o.Freq, Threads: o.Threads, Children: o.Children, ReadOnly: o.ReadOnly, Mode: o.Mode, MaxPause: o.MaxPause,
		MaxOverhead: o.MaxOverhead, OfHost: o.OfHost, Subset: o.Subset, Engine: o.Engine, Endless: o.Select != nil,
		KernelStacks: o.KernelStacks, CheckpointEvery: o.CheckpointEvery,
	}
	if len(o.Sinks) > 0 {
		options.WatchEvery = o.WatchEvery
	}
	return options
}

func (o *Options) aggregatorOptions() aggregator.Options {
	options := aggregator.Options{
		MaxDepth: o.MaxDepth, ThreadsFiltered: o.Threads != nil, Children: o.Children, Launched: o.Launched != 0,
		Kernel: o.KernelStacks, Save: o.Checkpoint, Sinks: o.Sinks, Walked: o.walked, Explained: o.explained,
		Events: o.EventLog, Tasks: o.Tasks,
	}
	options.Period = int64(float64(time.Second) / o.Freq)
	if s := o.Engine; s != nil && s.Period() > 0 {
		options.Period, options.KernelSamples = s.Period(), s.FromStart()
	}
	return options
}
