// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// stopsOnly is an [target.Engine] that observes nothing: running threads are stopped.
type stopsOnly struct{}

// Track implements [target.Engine].
func (stopsOnly) Track(*target.Process) target.ProcessPart { return nil }

// SetRate implements [target.Engine].
func (stopsOnly) SetRate(ptrace.Moment, float64) {}

// BeginTick implements [target.Engine].
func (stopsOnly) BeginTick(ptrace.Moment, bool) {}

// DrainAll implements [target.Engine].
func (stopsOnly) DrainAll(ptrace.Moment) {}

// DrainIfDue implements [target.Engine].
func (stopsOnly) DrainIfDue() (buffers bool) { return false }

// EndTick implements [target.Engine].
func (stopsOnly) EndTick() {}

// Stats implements [target.Engine].
func (stopsOnly) Stats(o *runstats.Observed) { o.Engine = "ptrace" }

// host implements [target.EngineHost].
type host struct{ t *Tracer }

// RecordObservation implements [target.EngineHost].
func (h host) RecordObservation(now ptrace.Moment) { h.t.gaps.recordObservation(now) }

// GapEnd implements [target.EngineHost].
func (h host) GapEnd() ptrace.Moment { return h.t.gaps.endOfLast() }

// ReadClocks implements [target.EngineHost].
func (h host) ReadClocks(now ptrace.Moment) { h.t.tracked.readClocks(now) }

// ReadTargetCPU implements [target.EngineHost].
func (h host) ReadTargetCPU(now ptrace.Moment) time.Duration { return h.t.tracked.cpuTime(now) }

// HasObservation implements [target.EngineHost].
func (h host) HasObservation() bool { return h.t.counts.samples() > 0 }
