// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/engine"
	"prywalk/internal/runstats"
)

// stopsAlone is an [engine.Running] that observes nothing: all running threads are stopped.
type stopsAlone struct{}

// Attach implements [engine.Running].
func (stopsAlone) Attach(*engine.Process) engine.ProcessObserver { return nil }

// Coverage implements [engine.Running].
func (stopsAlone) Coverage() engine.Coverage { return engine.Coverage{} }

// SetRate implements [engine.Running].
func (stopsAlone) SetRate(int64, float64) {}

// BeginTick implements [engine.Running].
func (stopsAlone) BeginTick(int64, bool) {}

// TakeAll implements [engine.Running].
func (stopsAlone) TakeAll(int64) {}

// DrainIfDue implements [engine.Running].
func (stopsAlone) DrainIfDue() (buffers bool) { return false }

// EndTick implements [engine.Running].
func (stopsAlone) EndTick() {}

// Stats implements [engine.Running].
func (stopsAlone) Stats(o *runstats.Observed) { o.Engine = "ptrace" }
