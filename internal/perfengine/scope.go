// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"prywalk/internal/observe"
	"prywalk/internal/sample"
)

// scope selects the threads that the kernel samples: all ([systemWide]), or single ones ([perThread]).
type scope interface {
	// begin is called for each thread of a process that is sampled from now on, and for its new ones.
	begin(*thread)
	end(*thread)
	// beforeObservation decides whether a sampled thread is stopped all the same. now is CLOCK_MONOTONIC, ns.
	beforeObservation(th *thread, now int64)
	// sampled is called for each sample of the thread, usable or not, that stands for period ns.
	sampled(th *thread, period int64)
	clocksRead(th *thread, before, now sample.Reading)
	// report completes each raw sample of the thread before it is reported.
	report(*thread, *observe.RawSample)
	// fromStart reports whether threads, also of descendants, are sampled from their first instruction on.
	fromStart() bool
	// samplesAny reports whether a thread was sampled, or would be if it ran.
	samplesAny() bool
	// note says what the samples leave out, and which threads are stopped; "": nothing.
	note() string
}

type systemWide struct {
	stream     *stream
	unassigned *unassignedSamples
}

func (s systemWide) begin(th *thread) {
	th.ExemptFromStops(s.stream.reader.Stack())
	s.unassigned.assign(th)
}

func (systemWide) end(*thread)                                        {}
func (systemWide) beforeObservation(*thread, int64)                   {}
func (systemWide) sampled(*thread, int64)                             {}
func (systemWide) clocksRead(*thread, sample.Reading, sample.Reading) {}
func (systemWide) report(*thread, *observe.RawSample)                 {}
func (systemWide) fromStart() bool                                    { return true }
func (systemWide) samplesAny() bool                                   { return true }
func (systemWide) note() string                                       { return "" }
