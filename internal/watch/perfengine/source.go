// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"errors"
	"time"

	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
)

// Source implements [target.EngineSource]. It holds what was opened for a recording.
type Source struct {
	// Events are the kernel's samples, paused until the recording begins, or nil.
	Events *perfevents.Reader
	// MayFallBack permits that a process whose samples lack something is stopped ([target.SampleLack.NeedsStops]).
	MayFallBack bool

	children bool // are followed
}

// Start implements [target.EngineSource].
func (s *Source) Start(shared *target.SharedState, h target.EngineHost, o *target.SamplingOptions) target.Engine {
	e := newEngine(shared, h, o, s)
	e.begin()
	return e
}

// Period implements [target.EngineSource].
func (s *Source) Period() time.Duration {
	if s.Events == nil {
		return 0
	}
	return s.Events.Period()
}

// FromStart implements [target.EngineSource].
func (s *Source) FromStart() bool { return s.Events != nil && !s.Events.PerThread() }

// BeforeLaunch implements [target.EngineLauncher]. Without children only single threads are sampled.
func (s *Source) BeforeLaunch(parent int) {
	if s.Events != nil && s.Events.PerThread() && s.children {
		s.Events.SampleCommand(parent)
	}
}

// Close implements [target.EngineSource].
func (s *Source) Close() {
	if s.Events != nil {
		s.Events.Close()
	}
}

// SourceOptions select what is opened.
type SourceOptions struct {
	Freq      float64 // samples per second of a running thread
	NoKernel  bool    // without kernel functions
	Children  bool
	LowMemory bool // less memory for samples
	// MayAsk returns an error if a seccomp filter may kill callers of perf_event_open.
	MayAsk func() error
}

// Auto opens samples of all CPUs or, without the right to these, of each thread in user space, if a trial gets some;
// else why is the reason. A nil Source means stops alone.
func Auto(o SourceOptions) (s *Source, why error) {
	s = &Source{MayFallBack: true}
	if why = o.MayAsk(); why == nil {
		why = s.openPermitted(o, perfevents.Try)
	}
	if s.Events == nil {
		return nil, why
	}
	return s, nil
}

// Forced is Auto without the trial of samples of all CPUs.
func Forced(o SourceOptions) (*Source, error) {
	if err := o.MayAsk(); err != nil {
		return nil, err
	}
	s := &Source{}
	if err := s.openPermitted(o, func() error { return nil }); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Source) openPermitted(o SourceOptions, try func() error) error {
	s.children = o.Children
	err := try()
	if err == nil {
		err = s.openAll(o)
	}
	if errors.Is(err, perfevents.ErrDenied) && perfevents.TryPerThread() == nil {
		return s.open(perfevents.OpenPerThread, perfevents.ReaderOptions{Freq: o.Freq, Programs: o.Children})
	}
	return err
}

// lowMemoryRings, bytes, permit 30 KiB of stack in a sample with 32 CPUs, 6 KiB with 128.
const lowMemoryRings = 32 << 20

func (s *Source) openAll(o SourceOptions) error {
	events := perfevents.ReaderOptions{Freq: o.Freq, Programs: o.Children, NoKernel: o.NoKernel}
	if o.LowMemory {
		events.Rings = lowMemoryRings
	}
	return s.open(perfevents.Open, events)
}

func (s *Source) open(how func(perfevents.ReaderOptions) (*perfevents.Reader, error),
	events perfevents.ReaderOptions) error {
	r, err := how(events)
	if err == nil {
		r.Pause()
		s.Events = r
	}
	return err
}
