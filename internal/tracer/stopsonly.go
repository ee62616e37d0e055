// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/engine"
	"prywalk/internal/runstats"
	"prywalk/internal/target"
)

// stopsOnly is an [engine.Engine] that observes nothing: running threads are stopped.
type stopsOnly struct{}

// Track implements [engine.Engine].
func (stopsOnly) Track(*target.Process) target.ProcessPart { return nil }

// Coverage implements [engine.Engine].
func (stopsOnly) Coverage() engine.Coverage { return engine.Coverage{} }

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
