// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"errors"

	"prywalk/internal/engine"
	"prywalk/internal/perfevents"
)

// Source implements [engine.Source]. It holds what was opened for a recording.
type Source struct {
	// Events are the kernel's samples, paused until the recording begins, or nil.
	Events *perfevents.Reader
	// Descendants are the records of child processes, or nil.
	Descendants *perfevents.Reader
	// MayFallBack permits that a process whose samples lack something is stopped ([target.SampleLack.NeedsStops]).
	MayFallBack bool

	launched int // the command, if Descendants records it
}

// Start implements [engine.Source].
func (s *Source) Start(shared *engine.SharedState, h engine.Host, o engine.Options) engine.Engine {
	e := newEngine(shared, h, o, s)
	e.begin(s)
	return e
}

// Period implements [engine.Source].
func (s *Source) Period() int64 {
	if s.Events == nil {
		return 0
	}
	return s.Events.Period()
}

// FromStart implements [engine.Source].
func (s *Source) FromStart() bool { return s.Events != nil && !s.Events.PerThread() }

// Launched implements [engine.Source].
func (s *Source) Launched(pid int) {
	if s.Descendants != nil && s.Descendants.OpenThread(pid) == nil { // on error ticks alone find its children
		s.launched = pid
	}
}

// Close implements [engine.Source].
func (s *Source) Close() {
	for _, r := range []*perfevents.Reader{s.Events, s.Descendants} {
		if r != nil {
			r.Close()
		}
	}
}

// Options select what is opened.
type Options struct {
	Freq      float64 // samples per second of a running thread
	NoKernel  bool    // without kernel functions
	Children  bool
	Selected  bool // only some threads of a process
	LowMemory bool // less memory for samples
	// MayAsk returns an error if a seccomp filter may kill callers of perf_event_open.
	MayAsk func() error
}

// Auto opens samples of all CPUs or, without the right to these, of each thread in user space, if a trial gets some;
// else why is the reason. A nil Source means stops alone.
func Auto(o Options) (s *Source, why error) {
	s = &Source{MayFallBack: true}
	if why = o.MayAsk(); why == nil {
		why = s.openPermitted(o, perfevents.Try)
	}
	return s.withDescendants(o), why
}

// Forced is Auto without the trial of samples of all CPUs.
func Forced(o Options) (*Source, error) {
	if err := o.MayAsk(); err != nil {
		return nil, err
	}
	s := &Source{}
	if err := s.openPermitted(o, func() error { return nil }); err != nil {
		return nil, err
	}
	return s.withDescendants(o), nil
}

func (s *Source) openPermitted(o Options, try func() error) error {
	err := try()
	if err == nil {
		err = s.openAll(o)
	}
	if errors.Is(err, perfevents.ErrDenied) && perfevents.TryPerThread() == nil {
		return s.open(perfevents.OpenPerThread, perfevents.Options{Freq: o.Freq})
	}
	return err
}

// DescendantsOnly opens the records of children, or returns nil.
func DescendantsOnly(o Options) *Source { return (&Source{}).withDescendants(o) }

// lowMemoryRings, bytes, permit 30 KiB of stack in a sample with 32 CPUs, 6 KiB with 128.
const lowMemoryRings = 32 << 20

func (s *Source) openAll(o Options) error {
	events := perfevents.Options{Freq: o.Freq, Programs: o.Children, NoKernel: o.NoKernel}
	if o.LowMemory {
		events.Rings = lowMemoryRings
	}
	return s.open(perfevents.Open, events)
}

func (s *Source) open(how func(perfevents.Options) (*perfevents.Reader, error), events perfevents.Options) error {
	r, err := how(events)
	if err == nil {
		r.Pause()
		s.Events = r
	}
	return err
}

// withDescendants opens the records of children if needed and permitted, and returns nil if nothing is open.
func (s *Source) withDescendants(o Options) *Source {
	if o.Children && !o.Selected && !s.FromStart() && o.MayAsk() == nil && perfevents.TryDescendants() == nil {
		s.Descendants, _ = perfevents.OpenDescendants() // on error ticks alone find children
	}
	if s.Events == nil && s.Descendants == nil {
		return nil
	}
	return s
}
