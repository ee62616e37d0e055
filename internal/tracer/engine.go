package tracer

import (
	"fmt"

	"prywalk/internal/booking"
	"prywalk/internal/descendants"
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
)

// # Engines: how running threads are observed
//
// Sleepers, clocks, births, ends and booking are the same for all. What differs is where the stack of a thread that
// runs comes from.
//
//   - ptrace: it is stopped at the tick ([look.Looker.Begin]).
//   - perf: the kernel samples it, at moments of its own (package perfevents). Nobody is stopped. At the tick the
//     samples that have come are given to their threads, and booked between the readings of the thread's clocks at
//     this tick and the one before ([booking.Reading.Between]).
//
// Either hands the accountant the same thing: a [look.Shot] of a thread, which it walks and books.
//
// With perf, a thread that is found running has no shot of that tick: its state is the samples'. A sample of a thread
// that ended before its clocks were read again is a claim on what is unseen of its process ([booking.Process.Claim]).
// If samples stop coming, ptrace takes over, and the recording says so. It also looks at processes of which the
// kernel's samples do not show all (engine_choice.go).

const (
	// checkEvery is how often it is seen whether samples come, in nanoseconds.
	checkEvery = 1e9
	// silentPeriods: if the targets have run for so many periods since they were last sampled, no more samples come.
	// The chance that there are none by accident is below e^-50.
	silentPeriods = 50
	// strayFor is how long a sample waits for its thread to be listed, in nanoseconds. By then it has ended.
	strayFor = 2 * listEvery
	// mostStrays and mostSamples bound how many samples wait, in all and for one thread.
	mostStrays  = 256
	mostSamples = 64
)

// kernelSamples is what the tracer knows of the kernel's samples. It belongs to the tracer.
type kernelSamples struct {
	reader    *perfevents.Reader // nil: there are none, and ptrace looks
	take      func(*perfevents.Record)
	of        map[int]*process // by process number
	strays    []stray
	untracked untrackedProcesses

	taken    int64                    // samples that were given to a thread or process
	heard    int64                    // samples of the targets
	since    int64                    // what was sampled before counts as not observed, CLOCK_MONOTONIC ns
	served   int64                    // processes that were sampled at all
	paused   bool                     // nobody is sampled: all targets are ptrace's
	left     [handover.NumLacks]int64 // processes that ptrace looks at all the same, by what samples lack of them
	unusable int64                    // samples without registers of the user's
	dropped  int64                    // samples that found no room here
	checked  int64                    // when it was last seen whether samples come, CLOCK_MONOTONIC ns
	heardOf  int64                    // heard, as of the last sign of life
	ran      int64                    // processor time of the targets then, ns
	gaveUp   string                   // why ptrace took over; "": it did not
	last     *perfevents.Reader       // the one that was given up
}

// stray is a sample of a thread that is not known.
type stray struct {
	proc *process
	tid  int
	shot *look.Shot
}

// observe has the kernel sample running threads from now on, if it may.
func (c *Tracer) observe(r *perfevents.Reader) {
	if r == nil {
		return
	}
	c.samples = kernelSamples{reader: r, of: map[int]*process{}}
	c.samples.take = c.takeSample
	if c.opts.Children && c.opts.Threads == nil {
		c.samples.untracked.table = descendants.New[*handover.Process, untrackedShot]()
	}
	r.Resume()
}

// sampled is the state of one thread under that engine.
type sampled struct {
	waiting []*look.Shot    // samples that are not booked yet, in the order in which they came
	read    booking.Reading // its clocks as of the last tick
	begun   bool            // the accountant knows from when on its time counts
}

// takeSamples gives the samples that have come since the last tick to their threads.
func (c *Tracer) takeSamples(now int64) {
	k := &c.samples
	if k.reader == nil {
		return
	}
	if k.paused {
		return
	}
	k.untracked.drain(k.reader, k.take)
	c.handOverUntracked(now)
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
	if k.heard++; r.Time < k.since {
		return // the kernel went on while nobody read clocks; its buffers had room for a part only
	}
	if !r.Usable() {
		k.unusable++
		return
	}
	p.heard++
	th := p.list.byTID[r.TID]
	switch {
	case th == nil:
		c.takeStray(p, r)
	case th.dead || !th.look.Sampled():
	case len(th.sampled.waiting) >= mostSamples || c.Pool.Waiting() > MaxBacklog:
		k.dropped++
	default:
		k.taken++
		th.sampled.waiting = append(th.sampled.waiting, c.looker.FromSample(r))
		c.idle.Wake(&th.idle)
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
	if len(k.strays) >= mostStrays {
		k.dropped++
		return
	}
	k.strays = append(k.strays, stray{p, r.TID, c.looker.FromSample(r)})
}

// adoptStrays gives a thread that was just met the samples that came before.
func (c *Tracer) adoptStrays(th *thread) {
	k := &c.samples
	if !th.proc.sampled {
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

// found takes the clocks of a thread at a tick, and hands its samples over.
func (c *Tracer) found(th *thread, now booking.Reading) {
	s := &th.sampled
	before := s.read
	if before.Wall == 0 {
		before = th.firstReading(now)
	}
	s.read = now
	if len(s.waiting) == 0 {
		return
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
func (th *thread) firstReading(now booking.Reading) booking.Reading {
	if !th.born {
		return now
	}
	at := now.Wall - now.CPU - now.RunQueue
	for _, s := range th.sampled.waiting {
		at = min(at, s.At)
	}
	return booking.Reading{Wall: at}
}

// handOverSample hands over one sample, with what the thread's clocks showed then.
func (c *Tracer) handOverSample(th *thread, s *look.Shot, at booking.Reading) {
	s.At = at.Wall
	s.Sched = procmem.SchedStat{CPU: uint64(at.CPU), RunQueue: uint64(at.RunQueue)}
	th.sampled.begun = true
	c.counts.sampled++
	c.now.copies += s.Waits()
	c.out.add(handover.Event{Kind: handover.Looked, Thread: th.shared, Shot: s, Before: th.idle.TakeUnchanged(), Length: c.samples.reader.Period()})
}

// runs takes note of a thread that is found running: its samples say where.
func (c *Tracer) runs(th *thread) {
	now := booking.ReadAt(th.look.LastSched(), procmem.Now())
	c.found(th, now)
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

// checkSamples has ptrace take over where the targets run and no samples of them come.
func (c *Tracer) checkSamples(now int64) {
	k := &c.samples
	if !k.reader.Check() {
		c.giveUpSamples("a processor came, and the kernel refuses samples of it")
		return
	}
	ran := c.ranSoFar(now)
	if k.heard != k.heardOf || k.ran == 0 {
		k.heardOf, k.ran = k.heard, max(ran, 1)
		for _, p := range c.procs {
			c.checkSamplesOf(p)
		}
		return
	}
	if ran-k.ran >= silentPeriods*k.reader.Period() {
		c.giveUpSamples(fmt.Sprintf("no samples came for %.1f s of processor time", seconds(ran-k.ran)))
	}
}

// giveUpSamples has ptrace look at running threads from now on.
func (c *Tracer) giveUpSamples(why string) {
	k := &c.samples
	for _, p := range c.procs {
		c.stopSampling(p)
	}
	c.forgetUntracked(true)
	k.reader.Pause()
	k.gaveUp = why
	k.last = k.reader
	k.reader = nil
}

// seeSomebody has ptrace look once at threads that run, where a recording would end without any stack: it was shorter
// than a sample's period. Nobody else would know what ran.
func (c *Tracer) seeSomebody(now int64) {
	n := &c.counts
	if c.takeSamples(now); n.sampled > n.claimed || n.frozen+n.peeked > 0 {
		return
	}
	for _, p := range c.procs {
		for _, th := range p.list.inOrder {
			if len(th.sampled.waiting) > 0 {
				return
			}
		}
	}
	for _, p := range c.procs {
		c.stopSampling(p)
	}
}

// end leaves everybody alone: names are looked up for long.
func (k *kernelSamples) end() {
	if k.reader != nil {
		k.reader.Pause()
	}
}

// stopSampling has ptrace look at a process's running threads from now on.
func (c *Tracer) stopSampling(p *process) {
	if !p.sampled {
		return
	}
	c.claimStrays(p)
	for _, th := range p.list.inOrder {
		for i, s := range th.sampled.waiting {
			c.handOverSample(th, s, th.sampled.read)
			th.sampled.waiting[i] = nil
		}
		th.sampled.waiting = nil
		th.look.SetSampled(0)
	}
	p.sampled = false
	c.samples.forget(p)
}

// forget takes note that a process's samples are not wanted any more. Its number may be another's by now.
func (k *kernelSamples) forget(p *process) {
	if k.of[p.target.PID] == p {
		delete(k.of, p.target.PID)
	}
}
