// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"slices"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

// mode is how the running threads of a process are observed. Only [modeChooser] changes it.
type mode uint8

const (
	modeStops   mode = iota
	modeSamples      // by the kernel
	modeEnded        // the process has ended
)

// process implements [target.ProcessPart].
type process struct {
	tracked *target.Process
	engine  *Engine
	threads map[int]*thread // by thread id
	mode    mode
	// What its samples lack, when it was last stopped, or sampled nevertheless.
	fellBackFor, sampledAnyway target.SampleLack
	// received counts the usable samples. receivedBefore and ranBefore (CPU time) are of the last check.
	received, receivedBefore int64
	ranBefore                time.Duration
}

// Observes implements [target.ProcessPart].
func (p *process) Observes() bool { return p.mode == modeSamples }

// TrackThread implements [target.ProcessPart].
func (p *process) TrackThread(of *target.Thread) target.ThreadPart {
	th := &thread{tracked: of, proc: p}
	p.threads[of.Observed.ID.TID] = th
	if p.mode == modeSamples {
		p.engine.scope.begin(th)
	}
	return th
}

// Ended implements [target.ProcessPart].
func (p *process) Ended() {
	e := p.engine
	e.procs.all = slices.DeleteFunc(e.procs.all, func(other *process) bool { return other == p })
	e.procs.dropSampled(p)
	p.mode = modeEnded
	if table := e.childSamples.table; table != nil {
		table.forget(p.tracked.Code.PID, p.tracked)
	}
	e.unassigned.reportProcess(p)
}

// thread implements [target.ThreadPart].
type thread struct {
	tracked     *target.Thread
	proc        *process
	unplaced    []*observe.RawSample // until the clocks are read
	lastReading sample.Reading
	begun       bool // an observation of it was reported
	deep        bool // stopped because of a deep stack
	ended       bool
	events      threadEvents // of [perThread]
}

// BeforeObservation implements [target.ThreadPart].
func (th *thread) BeforeObservation() {
	th.proc.engine.scope.beforeObservation(th, th.proc.engine.shared.Tick.At)
}

// ClocksRead implements [target.ThreadPart]. It reports the thread's samples.
func (th *thread) ClocksRead(now sample.Reading) {
	if !th.ended {
		th.proc.engine.samples.clocksRead(th, now)
	}
}

// FoundRunning implements [target.ThreadPart].
func (th *thread) FoundRunning() { th.proc.engine.samples.foundRunning(th) }

// AfterObservation implements [target.ThreadPart].
func (th *thread) AfterObservation(raw *observe.RawSample) {
	e := th.proc.engine
	th.begun = true
	e.scope.complete(th, raw)
	if raw.How != observe.ByStop || raw.State != sample.Running {
		return
	}
	if !th.deep && th.tracked.Observed.IsTooDeepForKernelSamples() {
		th.deep = true
		e.samples.counts.deepThreads++
	}
}

// Ended implements [target.ThreadPart].
func (th *thread) Ended(alive bool) {
	e, p := th.proc.engine, th.proc
	th.ended = true
	if tid := th.tracked.TID; p.threads[tid] == th {
		delete(p.threads, tid)
	}
	if alive {
		e.samples.reportUnplaced(th)
	} else {
		e.samples.reportUnassigned(th)
	}
	e.scope.end(th)
}

type processes struct {
	all          []*process
	sampledByPID map[int]*process
}

func (p *processes) dropSampled(gone *process) {
	if p.sampledByPID[gone.tracked.Code.PID] == gone {
		delete(p.sampledByPID, gone.tracked.Code.PID)
	}
}

func (p *processes) allSampled() bool {
	return !slices.ContainsFunc(p.all, func(p *process) bool { return p.mode != modeSamples })
}
