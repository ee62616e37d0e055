// SPDX-License-Identifier: Apache-2.0

package attribute

// mergeLimit bounds a span of sleep in one place with runs in it, ns.
const mergeLimit = 1e9

type sleepSpan struct {
	Span        // if not open, the place and the end are the last sleep's
	open   bool // else the thread was last found running
	active bool // the thread has run in it: mergeLimit bounds it
}

// observe adds a sample asleep. ran: the thread ran since the last sample; blocked is in ns.
func (s *sleepSpan) observe(now int64, place Place, ran bool, blocked int64, emit func(Span)) {
	if s.open && s.Place == place && (!ran && !s.active || s.Wall+blocked < mergeLimit) {
		s.Samples++
		s.Wall += blocked
		s.End = now
		s.active = s.active || ran
		return
	}
	s.close(emit)
	s.Span = Span{Place: place, End: now, Samples: 1, Wall: blocked}
	s.open, s.active = true, false
}

func (s *sleepSpan) close(emit func(Span)) {
	s.emitSoFar(emit)
	s.open = false
}

func (s *sleepSpan) flush(emit func(Span)) {
	s.emitSoFar(emit)
	s.Samples, s.Wall = 0, 0
}

func (s *sleepSpan) emitSoFar(emit func(Span)) {
	if s.open && (s.Samples > 0 || s.Wall > 0) {
		emit(s.Span)
	}
}
