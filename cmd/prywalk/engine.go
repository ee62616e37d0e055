// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prywalk/internal/base/errs"
	"prywalk/internal/code/symbols"
	"prywalk/internal/command/doctor"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/perfengine"
	"prywalk/internal/watch/perfevents"
)

const (
	engineAuto   = "auto"
	enginePtrace = "ptrace"
	enginePerf   = "perf"
)

func (f *recordFlags) addEngine(fl *pflag.FlagSet) {
	fl.StringVar(&f.engine, "engine", engineAuto, "how running threads are sampled: perf (by the kernel), ptrace (by "+
		"stopping them), auto (perf for each process where it is allowed and as good)")
	fl.BoolVar(&f.noKernel, "no-kernel", false, "leave the kernel's functions out of stacks")
}

// openEngine opens --engine. Precondition: all else in f is set.
func (f *recordFlags) openEngine() error {
	o := &f.recording.Sampler
	options := perfengine.SourceOptions{
		Freq: o.Freq, NoKernel: f.noKernel || !symbols.KernelAddressesVisible(),
		Children: o.Children, MayAsk: checkPerfEvents, LowMemory: o.LimitOwnCPU,
	}
	only := f.needsPtrace()
	var source *perfengine.Source
	var err error
	switch {
	case f.engine == engineAuto && only == "":
		var why error
		if source, why = perfengine.Auto(options); why != nil {
			o.WhyNoEngine = why.Error()
		}
	case f.engine == engineAuto:
		o.WhyNoEngine = only + " is about stops of running threads"
	case f.engine == enginePtrace:
	case f.engine == enginePerf && only != "":
		return errs.Usage("--engine perf and %s: running threads are not stopped then; leave one of the two out", only)
	case f.engine == enginePerf:
		source, err = perfengine.Forced(options)
	default:
		return errs.Usage("--engine %q: choose auto, ptrace or perf", f.engine)
	}
	switch {
	case errors.Is(err, perfevents.ErrDenied):
		return errs.With(errs.ExitDenied, "--engine perf: %w; %s, or leave --engine out", err, doctor.PerfRemedy())
	case err != nil:
		return fmt.Errorf("--engine perf: %w; leave --engine out, and ptrace is used", err)
	}
	if source != nil {
		o.Engine = source
	}
	return nil
}

func (f *recordFlags) closeEngine() {
	if f.recording.Sampler.Engine != nil {
		f.recording.Sampler.Engine.Close()
	}
}

// needsPtrace returns a flag that needs stops of running threads, or "".
func (f *recordFlags) needsPtrace() string {
	switch {
	case f.recording.Sampler.Mode != observe.ModeAuto:
		return "--rung"
	case f.recording.Sampler.Subset > 0:
		return "--subset"
	case f.recording.Context:
		return "--context"
	}
	return ""
}

// newPerfEventsTest opens perf events in a process of its own, since a seccomp filter may kill it.
func newPerfEventsTest() *cobra.Command {
	return hidden("ask-for-events", func() error { perfevents.TryOpen(); return nil })
}

func checkPerfEvents() error {
	return perfevents.CheckSeccomp(func(ctx context.Context) *exec.Cmd {
		return exec.CommandContext(ctx, selfFile, "ask-for-events")
	})
}
