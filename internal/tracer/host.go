// SPDX-License-Identifier: Apache-2.0

package tracer

// host implements [engine.Host].
type host struct{ t *Tracer }

// NoteObservation implements [engine.Host].
func (h host) NoteObservation(now int64) { h.t.reports.noteObservation(now) }

// GapEnd implements [engine.Host].
func (h host) GapEnd() int64 { return h.t.reports.gapEnd }

// ReadClocks implements [engine.Host].
func (h host) ReadClocks(now int64) {
	for _, p := range h.t.procs {
		p.readClockAt(now, p.alive())
	}
}

// ReadTargetCPU implements [engine.Host].
func (h host) ReadTargetCPU(now int64) int64 { return h.t.tracked.cpuTime(now) }

// HasObservation implements [engine.Host].
func (h host) HasObservation() bool { return h.t.counts.byStop+h.t.counts.byPassiveRead > 0 }
