// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/account/runstats"
	"prywalk/internal/watch/target"
)

// stopsOnly is an [engine.Engine] that observes nothing: running threads are stopped.
type stopsOnly struct{}

// Track implements [engine.Engine].
func (stopsOnly) Track(*target.Process) target.ProcessPart { return nil }

// SetRate implements [engine.Engine].
func (stopsOnly) SetRate(int64, float64) {}

// BeginTick implements [engine.Engine].
func (stopsOnly) BeginTick(int64, bool) {}

// DrainAll implements [engine.Engine].
func (stopsOnly) DrainAll(int64) {}

// DrainIfDue implements [engine.Engine].
func (stopsOnly) DrainIfDue() (buffers bool) { return false }

// EndTick implements [engine.Engine].
func (stopsOnly) EndTick() {}

// Stats implements [engine.Engine].
func (stopsOnly) Stats(o *runstats.Observed) { o.Engine = "ptrace" }

// host implements [engine.Host].
type host struct{ t *Tracer }

// NoteObservation implements [engine.Host].
func (h host) NoteObservation(now int64) { h.t.gaps.noteObservation(now) }

// GapEnd implements [engine.Host].
func (h host) GapEnd() int64 { return h.t.gaps.endOfLast() }

// ReadClocks implements [engine.Host].
func (h host) ReadClocks(now int64) { h.t.tracked.readClocks(now) }

// ReadTargetCPU implements [engine.Host].
func (h host) ReadTargetCPU(now int64) int64 { return h.t.tracked.cpuTime(now) }

// HasObservation implements [engine.Host].
func (h host) HasObservation() bool { return h.t.counts.samples() > 0 }
