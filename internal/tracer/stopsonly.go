// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/engine"
	"prywalk/internal/runstats"
)

// stopsOnly is an [engine.Running] that observes nothing: all running threads are stopped.
type stopsOnly struct{}

// Track implements [engine.Running].
func (stopsOnly) Track(*engine.Process) engine.ProcessObserver { return nil }

// Coverage implements [engine.Running].
func (stopsOnly) Coverage() engine.Coverage { return engine.Coverage{} }

// SetRate implements [engine.Running].
func (stopsOnly) SetRate(int64, float64) {}

// BeginTick implements [engine.Running].
func (stopsOnly) BeginTick(int64, bool) {}

// TakeAll implements [engine.Running].
func (stopsOnly) TakeAll(int64) {}

// DrainIfDue implements [engine.Running].
func (stopsOnly) DrainIfDue() (buffers bool) { return false }

// EndTick implements [engine.Running].
func (stopsOnly) EndTick() {}

// Stats implements [engine.Running].
func (stopsOnly) Stats(o *runstats.Observed) { o.Engine = "ptrace" }
