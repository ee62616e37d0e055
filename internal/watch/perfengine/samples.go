// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"cmp"
	"slices"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// samples keeps the samples of sampled processes until the clocks of their threads are read.
type samples struct {
	shared       *target.SharedState
	host         target.EngineHost
	selected     bool // only some threads of a process
	stream       *stream
	procs        *processes
	unassigned   *unassignedSamples
	scope        scope
	childSamples *childSamples

	clocksDue []*thread // with clocksAfterSamples samples
	counts    *sampleCounts
}

type sampleCounts struct {
	received    int64 // of sampled processes, usable or not
	dropped     int64 // for lack of room in prywalk
	deepThreads int64 // stopped because of their deep stacks
}

const (
	maxSamples         = 1024      // of a thread
	manySamples        = 8         // unplaced samples at which a thread is observed at once
	maxCopies          = 128 << 20 // bytes of all copies in use, above which samples are dropped
	clocksAfterSamples = 32        // samples of a thread at which its clocks are read within a tick
)

func (s *samples) take(r *perfevents.Record) {
	if r.Kind != perfevents.Sampled {
		return
	}
	p := s.procs.sampledByPID[r.PID]
	if p == nil {
		s.childSamples.keep(r)
		return
	}
	th, standsFor := p.threads[r.TID], time.Duration(0)
	if th != nil {
		standsFor = s.scope.sampled(th, s.stream.reader.PeriodOf(r))
	}
	s.counts.received++
	if r.Time < s.host.GapEnd() {
		return // of a gap without readings
	}
	kernelOnly := th != nil && th.tracked.Observed.NoUserSpace
	if !r.Usable() && !kernelOnly {
		return
	}
	p.received++
	switch {
	case th == nil:
		s.keepUnassigned(p, r)
	case standsFor == 0 || !th.tracked.Observed.IsKernelSampled():
	case len(th.unplaced) >= maxSamples || s.shared.Pool.BytesInUse() > maxCopies:
		s.counts.dropped++
	default:
		s.keep(th, r, standsFor)
	}
}

func (s *samples) keep(th *thread, r *perfevents.Record, standsFor time.Duration) {
	raw := s.stream.rawSample(s.shared.Observer, r)
	raw.StandsFor = standsFor
	if th.tracked.Observed.NoUserSpace {
		raw.SetNoUserSpace()
	}
	th.unplaced = append(th.unplaced, raw)
	if len(th.unplaced) == clocksAfterSamples {
		s.clocksDue = append(s.clocksDue, th)
	}
	if len(th.unplaced) >= manySamples || th.proc.tracked.WalkAtOnce(r.Time) || !th.tracked.SampleWaits() {
		s.shared.Backoff.Wake(th.tracked)
	}
}

func (s *samples) keepUnassigned(p *process, r *perfevents.Record) {
	if s.selected {
		return
	}
	p.tracked.Threads.HintChange()
	if s.unassigned.full() {
		s.counts.dropped++
		return
	}
	s.unassigned.keep(p, r.TID, s.stream.rawSample(s.shared.Observer, r))
}

// readClocks leaves first threads to the tracer: an exec may have given them another's clocks. Their samples wait for
// the next tick.
func (s *samples) readClocks(now ptrace.Moment) {
	for _, th := range s.clocksDue {
		first := th.tracked.Observed.ID.TID == th.proc.tracked.Code.PID
		if th.ended || th.tracked.Observed.Pending() || len(th.unplaced) == 0 || first {
			continue
		}
		if sched, err := th.tracked.Observed.Files().SchedStat(); err == nil {
			s.clocksRead(th, procmem.ReadingAt(sched, int64(now)))
		}
	}
	s.clocksDue = s.clocksDue[:0]
}

// clocksRead places the samples between a thread's last clocks and the present ones.
func (s *samples) clocksRead(th *thread, now sample.Reading) {
	before := th.lastReading
	if before.Wall == 0 {
		before = th.firstReading(now)
	}
	now.Wall = max(now.Wall, before.Wall) // its samples may be younger than the tick
	th.lastReading = now
	s.scope.clocksRead(th, before, now)
	if len(th.unplaced) == 0 {
		return
	}
	slices.SortStableFunc(th.unplaced, func(a, b *observe.RawSample) int { return cmp.Compare(a.At, b.At) })
	for i, raw := range th.unplaced {
		s.report(th, raw, before.Between(now, int64(raw.At)))
		th.unplaced[i] = nil
	}
	th.unplaced = th.unplaced[:0]
}

// firstReading returns the reading from which the unplaced samples' time counts: now, or for a thread that began within
// the recording, clocks of zero at its begin.
func (th *thread) firstReading(now sample.Reading) sample.Reading {
	if !th.tracked.FromZero {
		return now
	}
	began := ptrace.Moment(now.Wall - now.CPU - now.RunQueue)
	for _, raw := range th.unplaced {
		began = min(began, raw.At)
	}
	return sample.Reading{Wall: int64(began)}
}

func (s *samples) report(th *thread, raw *observe.RawSample, at sample.Reading) {
	raw.At = ptrace.Moment(at.Wall)
	raw.Sched = procmem.SchedStat{CPU: uint64(at.CPU), RunQueue: uint64(at.RunQueue)}
	th.begun = true
	s.scope.complete(th, raw)
	s.shared.AddEngineSample(target.Event{
		Thread: th.tracked, RawSample: raw, UnchangedBefore: th.tracked.TakeUnchanged(),
		WalkAtOnce: th.proc.tracked.WalkAtOnce(raw.At),
	})
}

// reportUnplaced reports the unplaced samples with the thread's last clocks.
func (s *samples) reportUnplaced(th *thread) {
	if th.lastReading.Wall == 0 { // none were read
		s.reportUnassigned(th)
		return
	}
	for _, raw := range th.unplaced {
		s.report(th, raw, th.lastReading)
	}
	th.unplaced = nil
}

func (s *samples) reportUnassigned(th *thread) {
	for _, raw := range th.unplaced {
		s.shared.AddUnassignedSample(target.Event{Thread: th.tracked, Proc: th.proc.tracked, RawSample: raw}, false)
	}
	th.unplaced = nil
}

func (s *samples) foundRunning(th *thread) {
	now := procmem.ReadingAt(th.tracked.Observed.LastClocks(), int64(ptrace.Now()))
	s.clocksRead(th, now)
	if !th.begun {
		th.begun = true
		s.shared.Out.Add(th.tracked.Started(now))
	}
	s.shared.Backoff.RecordObservation(th.tracked, false, th.tracked.FromZero, th.tracked.Observed.LastClocks())
}
