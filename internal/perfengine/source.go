// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
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
