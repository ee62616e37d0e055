// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/attribute"
	"prywalk/internal/engine"
	"prywalk/internal/observe"
	"prywalk/internal/runstats"
	"prywalk/internal/sample"
)

// stopsAlone is an [engine.Running] without samples: all running threads are stopped.
type stopsAlone struct{}

// ProcessAttached implements [engine.Running].
func (stopsAlone) ProcessAttached(*engine.Process) {}

// ThreadAttached implements [engine.Running].
func (stopsAlone) ThreadAttached(*engine.Process, *engine.Thread) {}

// ThreadEnded implements [engine.Running].
func (stopsAlone) ThreadEnded(*engine.Thread, bool) {}

// ProcessEnded implements [engine.Running].
func (stopsAlone) ProcessEnded(*engine.Process, *attribute.ProcessEnd) {}

// BeforeObservation implements [engine.Running].
func (stopsAlone) BeforeObservation(*engine.Thread) {}

// ClocksRead implements [engine.Running].
func (stopsAlone) ClocksRead(*engine.Thread, sample.Reading, bool) {}

// Runs implements [engine.Running].
func (stopsAlone) Runs(*engine.Thread) {}

// Observed implements [engine.Running].
func (stopsAlone) Observed(*engine.Thread, *observe.RawSample) {}

// Choose implements [engine.Running].
func (stopsAlone) Choose() {}

// Observes implements [engine.Running].
func (stopsAlone) Observes(*engine.Process) bool { return false }

// Complete implements [engine.Running].
func (stopsAlone) Complete() bool { return false }

// ShowsChildren implements [engine.Running].
func (stopsAlone) ShowsChildren() bool { return false }

// CountsChildren implements [engine.Running].
func (stopsAlone) CountsChildren() bool { return false }

// TakeAll implements [engine.Running].
func (stopsAlone) TakeAll(int64) {}

// DrainIfDue implements [engine.Running].
func (stopsAlone) DrainIfDue() {}

// AwaitDraining implements [engine.Running].
func (stopsAlone) AwaitDraining(done <-chan struct{}) { <-done }

// SetRate implements [engine.Running].
func (stopsAlone) SetRate(int64, float64) {}

// ReportChildren implements [engine.Running].
func (stopsAlone) ReportChildren(int64) {}

// EndTick implements [engine.Running].
func (stopsAlone) EndTick() {}

// Hold implements [engine.Running].
func (stopsAlone) Hold() {}

// Resume implements [engine.Running].
func (stopsAlone) Resume(int64) {}

// BeforeLast implements [engine.Running].
func (stopsAlone) BeforeLast(int64) {}

// EndChildren implements [engine.Running].
func (stopsAlone) EndChildren() {}

// End implements [engine.Running].
func (stopsAlone) End() {}

// Stats implements [engine.Running].
func (stopsAlone) Stats(o *runstats.Observed) { o.Engine = "ptrace" }
