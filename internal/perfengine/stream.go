// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"prywalk/internal/observe"
	"prywalk/internal/perfevents"
)

type stream struct {
	reader    *perfevents.Reader // nil: none, or given up
	paused    bool               // no process is sampled at present
	held      bool               // paused until release
	drainedAt int64              // CLOCK_MONOTONIC ns

	gaveUp       string // reason, or ""
	gaveUpReader *perfevents.Reader
}

func (s *stream) on() bool { return s.reader != nil && !s.paused }

// pauseUnless pauses the samples unless needed, else resumes them; again: they were paused.
func (s *stream) pauseUnless(needed bool) (again bool) {
	switch {
	case !needed && !s.paused:
		s.reader.Pause()
		s.paused = true
	case needed && s.paused:
		s.reader.Resume()
		s.paused = false
		return true
	}
	return false
}

func (s *stream) hold() {
	s.held = s.on()
	if s.held {
		s.reader.Pause()
	}
}

func (s *stream) release() {
	if s.held && s.reader != nil {
		s.reader.Resume()
	}
	s.held = false
}

func (s *stream) giveUp(why string) {
	s.reader.Pause()
	s.gaveUp = why
	s.gaveUpReader = s.reader
	s.reader = nil
}

func (s *stream) rawSample(o *observe.Observer, r *perfevents.Record) *observe.RawSample {
	raw := o.FromKernelSample(r)
	raw.StandsFor = s.reader.PeriodAt(r.TID, r.Time)
	return raw
}
