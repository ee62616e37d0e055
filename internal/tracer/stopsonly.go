// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/engine"
	"prywalk/internal/runstats"
)

// stopsOnly is an [engine.RunningObserver] that observes nothing: all running threads are stopped.
type stopsOnly struct{}

// Track implements [engine.RunningObserver].
func (stopsOnly) Track(*engine.Process) engine.ProcessObserver { return nil }

// Coverage implements [engine.RunningObserver].
func (stopsOnly) Coverage() engine.Coverage { return engine.Coverage{} }

// SetRate implements [engine.RunningObserver].
func (stopsOnly) SetRate(int64, float64) {}

// BeginTick implements [engine.RunningObserver].
func (stopsOnly) BeginTick(int64, bool) {}

// TakeAll implements [engine.RunningObserver].
func (stopsOnly) TakeAll(int64) {}

// DrainIfDue implements [engine.RunningObserver].
func (stopsOnly) DrainIfDue() (buffers bool) { return false }

// EndTick implements [engine.RunningObserver].
func (stopsOnly) EndTick() {}

// Stats implements [engine.RunningObserver].
func (stopsOnly) Stats(o *runstats.Observed) { o.Engine = "ptrace" }
