// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"math"

	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/internal/schedule"
	"prywalk/ptrace"
)

// # The kernel's samples, from the reader to the accountant

const (
	// checkEvery is how often it is seen whether samples come, in nanoseconds.
	checkEvery = 1e9
	// strayFor is how long a sample waits for its thread to be listed, in nanoseconds. By then it has ended.
	strayFor = 2 * listEvery
	// mostStrays and mostSamples bound how many samples wait, in all and for one thread.
	mostStrays  = 256
	mostSamples = 1024
	// manySamples is with how many of them a thread is no sleeper any more that runs now and then.
	manySamples = 8
	// crowdedBy is with how many samples of one thread its clocks are read in the middle of a tick.
	crowdedBy = 32
)

// stray is a sample of a thread that is not known.
type stray struct {
	proc *process
	tid  int
	shot *look.Shot
}

// sampled is the state of one thread under that engine.
type sampled struct {
	waiting []*look.Shot   // samples that are not booked yet, in the order in which they came
	read    sample.Reading // its clocks as of the last tick
	begun   bool           // the accountant knows from when on its time counts
}

// takeSamples gives the samples that have come since the last tick to their threads.
func (c *Tracer) takeSamples(now int64) {
	k := &c.samples
	if k.reader == nil || k.paused {
		return
	}
	before := k.drained
	k.drained = now
	ptrace.Pin() // it allocates, which would bring up a request to make room
	k.untracked.drain(k.reader, k.take)
	ptrace.Unpin()
	if before != 0 && now-before > k.reader.Room() {
		c.heardNobody(now) // what found no room is no sign that none come
	}
	c.handOverUntracked(now)
	c.fitStack(now)
	if now-k.checked >= checkEvery {
		k.checked = now
		c.checkSamples(now)
	}
}

// takeSample takes one record.
func (c *Tracer) takeSample(r *perfevents.Record) {
	k := &c.samples
	p := k.of[r.PID]
	if r.Kind != perfevents.Sampled {
		return
	}
	if p == nil || p.gone {
		c.keepUntracked(r) // or it is another program's
		return
	}
	th := p.list.byTID[r.TID]
	if th != nil {
		th.followed.heard++
	}
	if k.heard++; r.Time < k.since {
		return // the kernel went on while nobody read clocks; its buffers had room for a part only
	}
	kernelOnly := th != nil && th.noUser
	if !r.Usable() && !kernelOnly {
		k.unusable++
		return
	}
	p.heard++
	if !kernelOnly { // it has no stack that could be too deep
		k.length.sampled(r)
	}
	switch {
	case th == nil:
		c.takeStray(p, r)
	case th.dead || !th.look.Sampled():
	case len(th.sampled.waiting) >= mostSamples || c.Pool.Waiting() > MaxBacklog:
		k.dropped++
	default:
		k.taken++
		shot := c.looker.FromSample(r)
		if th.noUser {
			shot.NoUserSpace()
		}
		th.sampled.waiting = append(th.sampled.waiting, shot)
		if len(th.sampled.waiting) == crowdedBy {
			k.crowded = append(k.crowded, th)
		}
		if n := len(th.sampled.waiting); n >= manySamples || p.shared.Moving(r.Time) || !th.idle.MayWait() {
			c.idle.Wake(&th.idle)
		}
	}
}

// takeStray keeps a sample of a thread that is not known: it was just born, or has ended.
func (c *Tracer) takeStray(p *process, r *perfevents.Record) {
	k := &c.samples
	if _, refused := p.list.unwanted[r.TID]; refused || c.opts.Threads != nil {
		return
	}
	k.taken++
	p.list.hint = true
	c.rest.Changed(r.Time)
	if len(k.strays) >= mostStrays {
		k.dropped++
		return
	}
	k.strays = append(k.strays, stray{p, r.TID, c.looker.FromSample(r)})
}

// adoptStrays gives a thread that was just met the samples that came before.
func (c *Tracer) adoptStrays(th *thread) {
	k := &c.samples
	if !th.proc.sampled || k.reader.Own() {
		return
	}
	th.look.SetSampled(k.reader.Stack())
	kept := k.strays[:0]
	for _, s := range k.strays {
		if s.tid != th.look.TID || s.proc != th.proc {
			kept = append(kept, s)
			continue
		}
		th.sampled.waiting = append(th.sampled.waiting, s.shot)
		if th.shared.BornAt != 0 {
			th.shared.BornAt = min(th.shared.BornAt, s.shot.At)
		}
	}
	clear(k.strays[len(kept):])
	k.strays = kept
}

// claimStrays books the samples of threads that nobody met: they have ended. of is a process that has ended, too; nil
// for those that wait too long.
func (c *Tracer) claimStrays(of *process) {
	k := &c.samples
	kept := k.strays[:0]
	for _, s := range k.strays {
		if s.proc == of || of == nil && (c.ending || c.now.at-s.shot.At > strayFor) {
			c.claim(handover.Event{Kind: handover.SampledEnded, Proc: s.proc.shared, Shot: s.shot})
		} else {
			kept = append(kept, s)
		}
	}
	clear(k.strays[len(kept):])
	k.strays = kept
}

// claim hands over a sample of a thread that has ended.
func (c *Tracer) claim(e handover.Event) {
	c.counts.sampled++
	c.counts.claimed++
	c.now.copies += e.Shot.Waits()
	e.Length = c.samples.reader.Period()
	c.out.add(e)
}

// found takes the clocks of a thread at a tick, and hands its samples over. asleep: it sleeps by then.
func (c *Tracer) found(th *thread, now sample.Reading, asleep bool) {
	s := &th.sampled
	before := s.read
	if before.Wall == 0 {
		before = th.firstReading(now)
	}
	now.Wall = max(now.Wall, before.Wall) // its samples may have been taken since the tick began
	if s.read = now; len(s.waiting) == 0 {
		return
	}
	if asleep && th.steady.Is() && c.now.rested { // it ran on and on until then
		now = before.UntilAsleep(now)
	}
	for i := range s.waiting { // those of one processor are in order; it may have changed its processor
		for j := i; j > 0 && s.waiting[j].At < s.waiting[j-1].At; j-- {
			s.waiting[j], s.waiting[j-1] = s.waiting[j-1], s.waiting[j]
		}
	}
	for i, shot := range s.waiting {
		c.handOverSample(th, shot, before.Between(now, shot.At))
		s.waiting[i] = nil
	}
	s.waiting = s.waiting[:0]
}

// firstReading gives the clocks of a thread before those that are read first: of one whose birth was seen, at its
// birth.
func (th *thread) firstReading(now sample.Reading) sample.Reading {
	if !th.born {
		return now
	}
	at := now.Wall - now.CPU - now.RunQueue
	for _, s := range th.sampled.waiting {
		at = min(at, s.At)
	}
	return sample.Reading{Wall: at}
}

// handOverSample hands over one sample, with what the thread's clocks showed then.
func (c *Tracer) handOverSample(th *thread, s *look.Shot, at sample.Reading) {
	s.At = at.Wall
	s.Sched = procmem.SchedStat{CPU: uint64(at.CPU), RunQueue: uint64(at.RunQueue)}
	th.sampled.begun = true
	th.look.SeenElsewhere()
	c.counts.sampled++
	c.now.copies += s.Waits()
	c.out.add(handover.Event{
		Kind: handover.Looked, Thread: th.shared, Shot: s, Before: th.idle.TakeUnchanged(),
		Length: c.samples.reader.Period(), Soon: th.proc.shared.Moving(s.At),
	})
}

// runs takes note of a thread that is found running: its samples say where.
func (c *Tracer) runs(th *thread) {
	now := procmem.ReadingAt(th.look.LastSched(), procmem.Now())
	c.found(th, now, false)
	th.steady.Runs(schedule.Clocks(now))
	if s := &th.sampled; !s.begun {
		s.begun = true
		c.out.add(handover.Event{Kind: handover.SeenRunning, Thread: th.shared, Now: now})
	}
	c.idle.Looked(&th.idle, false, th.born, th.look.LastSched())
}

// endSamples hands over the samples of a thread that has ended.
func (c *Tracer) endSamples(th *thread) {
	for i, s := range th.sampled.waiting {
		if th.end.Alive {
			c.handOverSample(th, s, th.sampled.read)
		} else {
			c.claim(handover.Event{Kind: handover.SampledEnded, Thread: th.shared, Proc: th.proc.shared, Shot: s})
		}
		th.sampled.waiting[i] = nil
	}
	th.sampled.waiting = nil
}

// # How much of a stack is copied
//
// Where nothing ends a stack in memory, as those of goroutines, a sample has all that may be copied, and few of it are
// used. So copies become shorter once the walks of many samples have used less, and long again as soon as one was cut.
// That one's stack is incomplete. So each time it takes twice as long before copies become shorter again.

const (
	// fitSamples and fitAfter are of how many samples, and for how many nanoseconds, the walks are looked at.
	fitSamples = 256
	fitAfter   = 1e9
	// mostFitAfter bounds how often that time doubles, in nanoseconds.
	mostFitAfter = 1 << 10 * fitAfter
	// unendedShare: shorter copies pay where one sample in so many was ended by nothing.
	unendedShare = 8
)

// sampleLength decides how much stack the kernel's samples are to have.
type sampleLength struct {
	since, after int64 // from when on samples are looked at, and for how long, ns
	all, unended int64 // samples of the targets since, and those whose stack was ended by nothing
	deepest      int64 // how many bytes a walk has used at most since
}

// begin begins anew to look at samples.
func (l *sampleLength) begin(now int64) { *l = sampleLength{since: now, after: max(l.after, fitAfter)} }

// sampled takes note of a sample of the targets.
func (l *sampleLength) sampled(r *perfevents.Record) {
	if l.all++; len(r.Stack) == r.Asked {
		l.unended++
	}
}

// decide gives how many bytes are to be copied from now on, if they are shorter now; 0: as many as possible. fit gives
// the shortest copy that has so many bytes, 0: there is none.
func (l *sampleLength) decide(now int64, shorter int, fit func(int) int) int {
	switch {
	case l.since == 0:
		l.begin(now)
	case shorter != 0 && l.deepest > int64(shorter)*7/8:
		l.after = min(2*l.after, mostFitAfter)
		l.begin(now)
		return 0
	case shorter == 0 && now-l.since >= l.after && l.all >= fitSamples:
		n := 0
		if l.unended*unendedShare >= l.all && l.deepest > 0 && l.deepest < handover.CutStack {
			n = fit(2 * int(l.deepest))
		}
		l.begin(now)
		return n
	}
	return shorter
}

// fitStack has the kernel copy as much stack as is needed.
func (c *Tracer) fitStack(now int64) {
	k := &c.samples
	if k.reader.Own() || k.untracked.table != nil { // nobody knows what those need whom nobody has met
		return
	}
	for _, p := range c.procs {
		if p.sampled {
			k.length.deepest = max(k.length.deepest, p.shared.TakeUsedStack())
		}
	}
	if !k.reader.CopyShorter(k.length.decide(now, k.reader.Shorter(), k.reader.Fit)) {
		k.length.since = math.MaxInt64 // it is refused: never again
	}
}

// anyDepth has as much copied as possible, as a process is new whose stacks may be deep.
func (k *kernelSamples) anyDepth() {
	if k.reader.Shorter() != 0 {
		k.reader.CopyShorter(0)
		k.length.begin(procmem.Now())
	}
}
