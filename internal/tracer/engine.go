// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"

	"prywalk/internal/descendants"
	"prywalk/internal/handover"
	"prywalk/internal/ownruntime"
	"prywalk/internal/perfevents"
	"prywalk/internal/schedule"
)

// # Engines: how running threads are observed
//
// Sleepers, clocks, births, ends and booking are the same for all. What differs is where the stack of a thread that
// runs comes from.
//
//   - ptrace: it is stopped at the tick ([look.Looker.Begin]).
//   - perf: the kernel samples it, at moments of its own (package perfevents). Nobody is stopped. At the tick the
//     samples that have come are given to their threads, and booked between the readings of the thread's clocks at
//     this tick and the one before ([sample.Reading.Between]).
//
// Either hands the accountant the same thing: a [look.Shot] of a thread, which it walks and books.
//
// With perf, a thread that is found running has no shot of that tick: its state is the samples'. A sample of a thread
// that ended before its clocks were read again is a claim on what is unseen of its process ([attribute.Process.Claim]).
// If samples stop coming, ptrace takes over, and the recording says so. It also looks at processes of which the
// kernel's samples do not show all (engine_choice.go).

// silentPeriods: if the targets have run for so many periods since they were last sampled, no more samples come.
// The chance that there are none by accident is below e^-50.
const silentPeriods = 50

// kernelSamples is what the tracer knows of the kernel's samples. It belongs to the tracer.
type kernelSamples struct {
	reader    *perfevents.Reader // nil: there are none, and ptrace looks
	take      func(*perfevents.Record)
	of        map[int]*process // by process number
	strays    []stray
	untracked untrackedProcesses

	length  sampleLength
	drained int64     // when the kernel's buffers were read last, CLOCK_MONOTONIC ns
	crowded []*thread // whose samples soon find no more room

	taken    int64                    // samples that were given to a thread or process
	heard    int64                    // samples of the targets
	since    int64                    // what was sampled before counts as not observed, CLOCK_MONOTONIC ns
	served   int64                    // processes that were sampled at all
	paused   bool                     // nobody is sampled: all targets are ptrace's
	left     [handover.NumLacks]int64 // processes that ptrace looks at all the same, by what samples lack of them
	insisted [handover.NumLacks]int64 // processes that are sampled all the same, by what samples lack of them
	unusable int64                    // samples without registers of the user's
	dropped  int64                    // samples that found no room here
	checked  int64                    // when it was last seen whether samples come, CLOCK_MONOTONIC ns
	heardOf  int64                    // heard, as of the last sign of life
	ran      int64                    // processor time of the targets then, ns
	gaveUp   string                   // why ptrace took over; "": it did not
	last     *perfevents.Reader       // the one that was given up

	deep                int64 // threads that were frozen as their stacks are deeper than samples show
	leftChildren        bool  // children that nobody met are ptrace's
	unheard, unfollowed int64 // threads that are ptrace's: samples of them were missing, or are refused
}

// observe has the kernel sample running threads from now on, if it may.
func (c *Tracer) observe(r *perfevents.Reader) {
	if r == nil {
		return
	}
	c.samples = kernelSamples{reader: r, of: map[int]*process{}}
	c.samples.take = c.takeSample
	r.Want(c.samples.wants)
	r.Targets(c.samples.isTarget)
	if c.opts.Children && c.opts.Threads == nil && !r.Own() {
		c.samples.untracked.table = descendants.New[*handover.Process, untrackedShot]()
	}
	r.Resume()
}

// wants reports whether samples of a process are wanted. Where children are followed, it may be one of those.
func (k *kernelSamples) wants(pid int) bool { return k.of[pid] != nil || k.untracked.table != nil }

// isTarget reports whether a process is one of those sampled, or a child that nobody has met.
func (k *kernelSamples) isTarget(pid int) bool {
	return k.of[pid] != nil || k.untracked.table != nil && k.untracked.table.Find(pid) != nil
}

// checkSamples has ptrace take over where the targets run and no samples of them come.
func (c *Tracer) checkSamples(now int64) {
	k := &c.samples
	if !k.reader.Check() {
		c.giveUpSamples("a processor came, and the kernel refuses samples of it")
		return
	}
	if k.reader.Own() {
		return // each thread is judged on its own
	}
	ran, all := c.ranSoFar(now), c.allSampled() && !k.leftChildren
	if k.heard != k.heardOf || k.ran == 0 || !all {
		if k.heardOf, k.ran = k.heard, max(ran, 1); !all {
			k.ran = 0 // no samples come of those that ptrace looks at, and their time is in the sum
		}
		for _, p := range c.procs {
			c.checkSamplesOf(p)
		}
		return
	}
	if ran-k.ran >= silentPeriods*k.reader.Period() {
		c.giveUpSamples(fmt.Sprintf("no samples came for %.1f s of processor time", seconds(ran-k.ran)))
	}
}

// heardNobody takes note that nobody was sampled up to now, on purpose, or as samples found no room. What targets used
// meanwhile is no sign that no samples come.
func (c *Tracer) heardNobody(now int64) {
	c.samples.ran = 0
	for _, p := range c.procs {
		p.readClockAt(now, p.alive())
		p.ranUnheard = p.clock.ran()
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
		c.unfollow(th)
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

// # Ticks that are left out
//
// Package schedule says why, and when. Somebody must look as often as ever where a look can stop somebody, or where it
// is not the kernel that says who runs: then none is left out.

// restIfSteady gives the moment of the next tick: the one that was due, or a later one if that would tell nothing, or
// cost more than it tells.
func (c *Tracer) restIfSteady(now, next int64) int64 {
	if !c.mayRest(now) {
		return next
	}
	c.rest.Used(int64(ownruntime.CPUTime()))
	leaveOut := c.ticks.LeaveOutCostly
	if c.steady(now) {
		leaveOut = c.ticks.LeaveOut
	}
	after, ok := leaveOut(&c.rest, next)
	if !ok {
		return next
	}
	for _, p := range c.procs {
		c.idle.Rest(p.idle)
	}
	return after
}

// mayRest reports whether ticks may be left out: the kernel samples all who run, and nobody comes or goes.
func (c *Tracer) mayRest(now int64) bool {
	k := &c.samples
	switch {
	case k.reader == nil || k.paused || k.leftChildren || !c.allSampled() || c.drawing() || c.budget.Limited() || c.ending:
		return false
	case c.quota != nil || c.looker.Pending() > 0 || !c.rest.May(now):
		return false
	}
	for _, p := range c.procs {
		if !p.list.begun || p.shared.Moving(now) {
			return false // its code goes: its samples are walked while it is there
		}
	}
	return true
}

// steady reports whether all threads have done the same for a while.
func (c *Tracer) steady(now int64) bool {
	for _, p := range c.procs {
		for _, t := range p.idle.Awake {
			if th := t.Owner.(*thread); !th.dead && !th.steady.Is() && t.AsleepFor(now) < schedule.SteadyFor {
				return false
			}
		}
	}
	return true
}
