// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"slices"
	"time"

	"prywalk/frames"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// childSamples keeps samples of child processes that are not tracked yet ([descendants]). A sample is reported
//
//   - as one of the nearest tracked ancestor's children, when its process has ended, or after a second
//   - as one of the process, when that is tracked ([childSamples.processTracked])
type childSamples struct {
	shared            *target.SharedState
	stream            *stream
	unassigned        *unassignedSamples
	counts            *sampleCounts
	table             *descendants // nil if none are sampled
	waiting           int          // samples
	lostEndsCheckedAt ptrace.Moment
}

const (
	maxChildSamples = 1024        // of all children
	childSampleFor  = time.Second // longest wait of a sample
)

type childSample struct {
	tid     int
	raw     *observe.RawSample
	program *target.Program // at the sample
}

func (c *childSamples) enabled() bool { return c.table != nil }

func (c *childSamples) drain(r *perfevents.Reader, take func(*perfevents.Record)) {
	if c.table == nil {
		r.Drain(take)
		return
	}
	c.table.drain(r, take)
}

func (c *childSamples) keep(r *perfevents.Record) {
	if c.table == nil {
		return
	}
	p := c.table.find(r.PID)
	switch {
	case p == nil || !r.Usable() && !r.NoUser:
	case c.waiting >= maxChildSamples || c.shared.Pool.BytesInUse() > maxCopies:
		c.counts.dropped++
	default:
		c.waiting++
		p.samples = append(p.samples, childSample{r.TID, c.stream.rawSample(c.shared.Observer, r), p.programAt(r.Time)})
	}
}

func (c *childSamples) handOver(now ptrace.Moment) {
	if c.table == nil {
		return
	}
	if now.Sub(c.lostEndsCheckedAt) >= checkEvery {
		c.lostEndsCheckedAt = now
		c.table.findLostEnds()
	}
	for p := range c.table.all() {
		if p.ended || len(p.samples) > 0 && now.Sub(p.samples[0].raw.At) > childSampleFor {
			for _, kept := range p.samples {
				c.report(p.ancestor, kept, true)
			}
			c.waiting -= len(p.samples)
			p.samples = p.samples[:0]
		}
	}
}

func (c *childSamples) report(on *target.Process, kept childSample, ofChild bool) {
	kept.program.Freeze()
	c.shared.AddUnassignedSample(target.Event{Proc: on, RawSample: kept.raw, Program: kept.program}, ofChild)
}

// processTracked keeps a newly tracked process's samples for its threads, if they are of its last program, have a user
// stack and are not too many, and the kernel samples the process. All others share its unobserved time.
func (c *childSamples) processTracked(p *process) {
	if c.table == nil {
		return
	}
	before := c.table.track(p.tracked.Code.PID, p.tracked)
	if before == nil {
		return
	}
	c.waiting -= len(before.samples)
	for _, kept := range before.samples {
		last := kept.program == before.runs && kept.raw.Regs.Arch != frames.ArchUnknown
		if last && p.mode == modeSamples && !c.unassigned.full() {
			c.unassigned.keep(p, kept.tid, kept.raw)
		} else {
			c.report(p.tracked, kept, false)
		}
	}
}

// end reports the waiting samples if the recording continues.
func (c *childSamples) end(recordingContinues bool) {
	if c.table == nil {
		return
	}
	for p := range c.table.all() {
		for _, kept := range p.samples {
			if recordingContinues {
				c.report(p.ancestor, kept, true)
			} else {
				c.shared.Pool.Put(kept.raw)
			}
		}
	}
	c.table = nil
	c.waiting = 0
	c.lostEndsCheckedAt = 0
}

// unassignedSamples are of untracked threads: they share the unobserved time of a process. They wait, as the next
// listing may find their thread.
type unassignedSamples struct {
	shared *target.SharedState
	list   []unassignedSample
}

type unassignedSample struct {
	proc *process
	tid  int
	raw  *observe.RawSample
}

const (
	// unassignedFor is how long a sample waits for its thread: two listings.
	unassignedFor = 100 * time.Millisecond
	maxUnassigned = 256
)

func (u *unassignedSamples) full() bool { return len(u.list) >= maxUnassigned }

func (u *unassignedSamples) keep(p *process, tid int, raw *observe.RawSample) {
	u.list = append(u.list, unassignedSample{p, tid, raw})
}

func (u *unassignedSamples) assign(th *thread) {
	u.list = slices.DeleteFunc(u.list, func(s unassignedSample) bool {
		if s.tid != th.tracked.Observed.ID.TID || s.proc != th.proc {
			return false
		}
		th.unplaced = append(th.unplaced, s.raw)
		if th.tracked.CreatedAt != 0 {
			th.tracked.CreatedAt = min(th.tracked.CreatedAt, s.raw.At)
		}
		return true
	})
}

func (u *unassignedSamples) reportProcess(p *process) {
	u.reportIf(func(s unassignedSample) bool { return s.proc == p })
}

// reportOverdue reports samples older than unassignedFor, in the last tick all.
func (u *unassignedSamples) reportOverdue() {
	u.reportIf(func(s unassignedSample) bool {
		return u.shared.Ending || u.shared.Tick.At.Sub(s.raw.At) > unassignedFor
	})
}

func (u *unassignedSamples) reportIf(due func(unassignedSample) bool) {
	u.list = slices.DeleteFunc(u.list, func(s unassignedSample) bool {
		if !due(s) {
			return false
		}
		u.shared.AddUnassignedSample(target.Event{Proc: s.proc.tracked, RawSample: s.raw}, false)
		return true
	})
}
