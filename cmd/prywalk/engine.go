package main

import (
	"errors"
	"fmt"

	"prywalk/internal/perfevents"
	"prywalk/internal/sampler"
	"prywalk/internal/symbols"
)

// engineFlags say how running threads are observed.
type engineFlags struct {
	engine   string
	noKernel bool
}

// Ways of observing running threads.
const (
	engineAuto   = "auto"
	enginePtrace = "ptrace"
	enginePerf   = "perf"
)

// open prepares what --engine asks for: nil is ptrace.
func (f *engineFlags) open(o *sampler.Options) (*perfevents.Reader, error) {
	switch f.engine {
	case engineAuto, enginePtrace:
		return nil, nil
	case enginePerf:
		r, err := perfevents.Open(perfevents.Options{Freq: o.Freq, Programs: o.Children, NoKernel: f.noKernel || !symbols.KernelShown()})
		if errors.Is(err, perfevents.ErrDenied) {
			return nil, &exitError{exitDenied, fmt.Errorf("--engine perf: %w; %s, or leave --engine out", err, perfevents.Remedy)}
		}
		if err != nil {
			return nil, fmt.Errorf("--engine perf: %w; leave --engine out, and ptrace is used", err)
		}
		return r, nil
	}
	return nil, usageError("--engine %q: choose auto, ptrace or perf", f.engine)
}

// closeEvents lets go of them.
func closeEvents(r *perfevents.Reader) {
	if r != nil {
		r.Close()
	}
}
