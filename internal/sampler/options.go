// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"io"
	"regexp"
	"time"

	"prywalk/frames"
	"prywalk/internal/accountant"
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/perfevents"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/tracer"
	"prywalk/internal/waits"
)

// Limits of the sampling frequency, in ticks a second.
const (
	MinFreq     = 1
	MaxFreq     = 10000
	DefaultFreq = 99
)

// Options say how to sample.
type Options struct {
	// Freq is the number of ticks a second, MinFreq to MaxFreq.
	Freq float64
	// MaxDepth limits the frames of a stack; 0 means frames.DefaultMaxDepth.
	MaxDepth int
	// Threads, if set, selects the threads whose names it matches.
	Threads *regexp.Regexp
	// Children: follow the processes that those sampled start.
	Children bool
	// Launched is when the process was launched, if it was for this recording ([BootTicks]), else 0. What its children
	// used counts from then on.
	Launched uint64
	// ReadOnly: never write a register of a target.
	ReadOnly bool
	// Rung forces one way of looking, for measurements.
	Rung look.Rung
	// MaxPause, if positive, is the longest freeze that is begun, by what it is
	// expected to take; looks that need a longer one fail with that reason.
	MaxPause time.Duration
	// MaxOverhead, if positive, is the share of their time that running threads
	// may lose; the rate is lowered to keep to it.
	MaxOverhead float64
	// Subset, if positive, is at how many threads a tick looks at most, but for the last tick. They are drawn anew each
	// time. It is for ptrace: there should be no Events.
	Subset int
	// JITFuncs, if set, gives for a process what knows the bounds of functions
	// that were compiled at run time. It is used on the accountant's goroutine.
	JITFuncs func(pid int) func(pc uint64) (start, end uint64, ok bool)
	// Events, if set, has the kernel sample running threads, which are not stopped then. It belongs to the Sampler while
	// that runs, and may be paused before. Its frequency should be Freq.
	Events *perfevents.Reader
	// Kin, if set, has the kernel tell what descendants of the targets use, where it does not sample all that runs
	// ([perfevents.OpenKin]). It belongs to the Sampler while that runs.
	Kin *perfevents.Reader
	// Choose: a process whose samples lack something that a stop shows is looked at with ptrace, as if there were no
	// Events. NoEvents says, for people, why there are none though they were wanted.
	Choose   bool
	NoEvents string
	// KernelStacks: stacks of sleepers have the kernel's functions above the system call, where this user may know them
	// (CAP_SYS_ADMIN).
	KernelStacks bool
	// Checkpoint is called on the accountant's goroutine every so often and
	// when asked for, with everything up to then booked. While it goes on for long, it is to call
	// between every some milliseconds: that books what comes in meanwhile.
	Checkpoint func(between func())
	// CheckpointEvery is the least time between two checkpoints, which come more rarely where they take long; 0
	// for none.
	CheckpointEvery time.Duration

	// Watch, if set, takes the intervals as they become final, beside the recording, and is told every WatchEvery
	// what goes on. Where that takes long it is told more rarely. It is called on the accountant's goroutine.
	Watch      profile.Watcher
	WatchEvery time.Duration

	// EventLog, if set, takes the events that time is attributed by (package replay). It is written on the accountant's
	// goroutine.
	EventLog io.Writer

	// walked and explained are [accountant.Options]' Walked and Explained, for tests.
	walked    func(*handover.Process, *look.Shot, sample.StackID, *frames.Walker)
	explained func(*look.Shot, *waits.For)
	// engine, if set, makes the engine, for tests.
	engine func(*handover.Common, <-chan *handover.Process) handover.Engine
}

// looking is what of it the tracer needs to know.
func (o *Options) looking() tracer.Options {
	t := tracer.Options{
		Freq: o.Freq, Threads: o.Threads, Children: o.Children, ReadOnly: o.ReadOnly, Rung: o.Rung, MaxPause: o.MaxPause,
		MaxOverhead: o.MaxOverhead, Subset: o.Subset, Events: o.Events, Kin: o.Kin,
		Choose: o.Choose, KernelStacks: o.KernelStacks, CheckpointEvery: o.CheckpointEvery,
	}
	if o.Watch != nil {
		t.WatchEvery = o.WatchEvery
	}
	return t
}

// booking is what of it the accountant needs to know.
func (o *Options) booking() accountant.Options {
	a := accountant.Options{
		MaxDepth: o.MaxDepth, Selected: o.Threads != nil, Children: o.Children, Launched: o.Launched != 0,
		Kernel: o.KernelStacks, Save: o.Checkpoint, Watch: o.Watch, Walked: o.walked, Explained: o.explained,
		Events: o.EventLog,
	}
	if a.Period = int64(float64(time.Second) / o.Freq); o.Events != nil {
		a.Period, a.Sampled = o.Events.Period(), !o.Events.Own()
	}
	return a
}
