// SPDX-License-Identifier: Apache-2.0

package perfengine

import "prywalk/internal/observe"

// scope selects the threads that the kernel samples: all ([systemWide]), or single ones ([perThread]).
type scope interface {
	// begin is called for each thread of a process that is sampled from now on, and for its new ones.
	begin(*thread)
	end(*thread)
	// stopIfSamplesLack stops a thread again that has too few samples for its CPU time, before an observation.
	stopIfSamplesLack(*thread)
	stopFoundRunning(*thread, *observe.RawSample)
	// fromStart reports whether threads, also of descendants, are sampled from their first instruction on.
	fromStart() bool
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

func (systemWide) end(*thread)                                  {}
func (systemWide) stopIfSamplesLack(*thread)                    {}
func (systemWide) stopFoundRunning(*thread, *observe.RawSample) {}
func (systemWide) fromStart() bool                              { return true }
func (systemWide) note() string                                 { return "" }
