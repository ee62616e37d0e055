// SPDX-License-Identifier: Apache-2.0

package tracer

// host implements [engine.Host].
type host struct{ t *Tracer }

// NoteObservation implements [engine.Host].
func (h host) NoteObservation(now int64) { h.t.gaps.noteObservation(now) }

// GapEnd implements [engine.Host].
func (h host) GapEnd() int64 { return h.t.gaps.lastGapEnd() }

// ReadClocks implements [engine.Host].
func (h host) ReadClocks(now int64) { h.t.tracked.readClocks(now) }

// ReadTargetCPU implements [engine.Host].
func (h host) ReadTargetCPU(now int64) int64 { return h.t.tracked.cpuTime(now) }

// PollStops implements [engine.Host].
func (h host) PollStops() { h.t.stops.poll() }

// HasObservation implements [engine.Host].
func (h host) HasObservation() bool { return h.t.counts.samples() > 0 }
