// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"prywalk/internal/exit"
	"prywalk/internal/look"
	"prywalk/internal/perfevents"
	"prywalk/internal/sampler"
	"prywalk/internal/symbols"
)

// engineFlags say how running threads are observed.
type engineFlags struct {
	engine   string
	noKernel bool
}

// engineUsage is the help of --engine.
const engineUsage = "how running threads are sampled: perf (by the kernel), ptrace (by stopping them), " +
	"auto (perf for each process where it is allowed and as good)"

// Ways of observing running threads.
const (
	engineAuto   = "auto"
	enginePtrace = "ptrace"
	enginePerf   = "perf"
)

// open prepares what --engine asks for: none but with ptrace alone. Precondition: all else in o is set.
func (f *engineFlags) open(o *sampler.Options) error {
	only := needsPtrace(o)
	var err error
	switch f.engine {
	case enginePtrace:
	case engineAuto:
		if o.Choose = only == ""; o.Choose {
			o.Events, o.NoEvents = f.tried(o)
		} else {
			o.NoEvents = only + " is about stops of running threads"
		}
	case enginePerf:
		if only != "" {
			return exit.Usage("--engine perf and %s: running threads are not stopped then; leave one of the two out", only)
		}
		if err = survivable(); err != nil {
			break
		}
		if o.Events, err = f.sample(o); errors.Is(err, perfevents.ErrDenied) {
			o.Events, err = f.sampleOwn(o, err)
		}
	default:
		return exit.Usage("--engine %q: choose auto, ptrace or perf", f.engine)
	}
	switch {
	case errors.Is(err, perfevents.ErrDenied):
		return exit.With(exit.Denied, "--engine perf: %w; %s, or leave --engine out", err, perfevents.Remedy)
	case err != nil:
		return fmt.Errorf("--engine perf: %w; leave --engine out, and ptrace is used", err)
	}
	f.openKin(o)
	return nil
}

// needsPtrace names the flag that is about stops of running threads, "" if none was given.
func needsPtrace(o *sampler.Options) string {
	switch {
	case o.Rung != look.Ladder:
		return "--rung"
	case o.MaxOverhead > 0:
		return "--max-overhead"
	case o.Subset > 0:
		return "--subset"
	}
	return ""
}

// tried gives the kernel's samples if they are allowed, and come; else why not.
func (f *engineFlags) tried(o *sampler.Options) (*perfevents.Reader, string) {
	if err := survivable(); err != nil {
		return nil, err.Error()
	}
	if err := perfevents.Try(); err != nil {
		return nil, err.Error()
	}
	r, err := f.sample(o)
	if err != nil {
		return nil, err.Error()
	}
	return r, ""
}

func (f *engineFlags) sample(o *sampler.Options) (*perfevents.Reader, error) {
	r, err := perfevents.Open(perfevents.Options{Freq: o.Freq, Programs: o.Children, NoKernel: f.noKernel ||
		!symbols.KernelShown()})
	if err == nil {
		r.Pause() // until the recording begins
	}
	return r, err
}

// sampleOwn has threads sampled that this user may have sampled, in user space, where more is denied.
func (f *engineFlags) sampleOwn(o *sampler.Options, denied error) (*perfevents.Reader, error) {
	if perfevents.TryOwn() != nil {
		return nil, denied
	}
	r, err := perfevents.OpenOwn(perfevents.Options{Freq: o.Freq})
	if err != nil {
		return nil, denied
	}
	r.Pause() // until the recording begins
	return r, nil
}

// openKin has the kernel tell of descendants, where it does not sample all that runs and may tell.
func (f *engineFlags) openKin(o *sampler.Options) {
	if !o.Children || o.Threads != nil || o.Events != nil && !o.Events.Own() || survivable() != nil {
		return
	}
	if perfevents.TryKin() == nil {
		o.Kin, _ = perfevents.OpenKin() // else children are met at the ticks alone
	}
}

// closeEvents lets go of them.
func closeEvents(r *perfevents.Reader) {
	if r != nil {
		r.Close()
	}
}
