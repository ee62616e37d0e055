// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"runtime"

	"prywalk/internal/look"
	"prywalk/internal/ownruntime"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
)

// # Newborn threads
//
// A thread that is born between two ticks must be met at the next one: what it does first would else be missing from
// the shares. Its process's threads need not be listed for that. Whether any task was born the kernel says in one
// read, for the whole machine, and the youngest threads stand at the list's end.
const (
	// The kernel passes over a thread in up to skipCost ns; passing over all of a process may take one part in
	// skipShare of the time.
	skipCost  = 20
	skipShare = 64
	// firstTail is how many of the last threads are listed first. If none of them is known, more are.
	firstTail = 8
	// A process whose clock has stood still for stillFor ns starts no thread: more than a scheduler's tick, by which
	// the clock can lag.
	stillFor = 20e6
)

// births counts the moments at which tasks had been born since it was asked before. It is asked once a tick at most,
// and only on behalf of processes that could have started one.
type births struct {
	file  *procmem.Births // nil: not known, and each tick may have some
	count int64
	tick  int64  // at which it was asked last
	tids  []int  // of the youngest threads
	slow  func() // stands for a /proc that is slow, in tests: called before and after a list is read
}

// wait is where a read of /proc may take long.
func (b *births) wait() {
	if b.slow != nil {
		b.slow()
	}
}

func (b *births) close() {
	if b.file != nil {
		b.file.Close()
	}
}

// again has the count taken anew, within one tick.
func (b *births) again() { b.tick = -1 }

// at gives the count as of a tick.
func (b *births) at(tick int64) int64 {
	if tick != b.tick {
		if b.tick = tick; b.file == nil || b.file.Any() {
			b.count++
		}
	}
	return b.count
}

// last gives the number that a task was given last, as of this tick; 0 if that is not known.
func (b *births) last() int {
	if b.file == nil {
		return 0
	}
	return b.file.Last()
}

// # What a look at them stands for
//
// No tick comes while the tracer is at work for the last one, and who is stopped does not run. So at the moments at
// which ticks come threads are on processors more often than on average. A look stands for less than the time since the
// tick before: the tracer's own work is left out on one processor, a stop on the others. It matters to short lives
// alone, as the others' own clocks tell what each look stands for.

// ownWork is how much of the time since the last tick the tracer had a processor.
type ownWork struct {
	wanted  int64 // the last tick at which somebody asked
	at, cpu int64 // as of the last tick at which it was measured, CLOCK_MONOTONIC and processor time, ns; 0: it was not
	since   int64 // how long ago that was, ns
	part    float64
}

// wantedFor is for how many ticks it is measured after somebody has asked.
const wantedFor = 100

// measure is called at the beginning of a tick.
func (o *ownWork) measure(tick, now int64) {
	if tick-o.wanted > wantedFor {
		o.at, o.since, o.part = 0, 0, 0
		return
	}
	cpu := int64(ownruntime.CPUTime())
	if o.at != 0 && now > o.at {
		o.since = now - o.at
		o.part = float64(cpu-o.cpu) / float64(o.since)
	}
	o.at, o.cpu = now, cpu
}

// standsFor gives the time that a look at a thread stands for, in nanoseconds.
func (c *Tracer) standsFor(th *thread, s *look.Shot) int64 {
	if !th.born || s.How != look.ByFreeze {
		return c.now.apart
	}
	c.own.wanted = c.counts.ticks
	processors := float64(runtime.NumCPU())
	stopped := float64(s.Stopped) / float64(max(c.own.since, c.ticks.Period()))
	return int64(float64(c.now.apart) * (1 - min((c.own.part+(processors-1)*stopped)/processors, 0.5)))
}

const (
	// mostTurns bounds how often a process's newborn threads are asked for in one tick.
	mostTurns = 3
	// longMeeting is after which part of a period the tracer makes way for others while it meets newborn threads.
	longMeeting = 4
)

// meetAllNewborn meets the threads that were born since the last tick. They are looked at at once, or drawn with the
// others.
func (c *Tracer) meetAllNewborn(now int64) {
	c.hearKin(now)
	if !c.drawing() {
		c.lookAtAllNewborn(now)
		return
	}
	for _, p := range c.procs {
		if p.list.begun {
			c.meetNewborn(p, now)
		}
	}
	c.meetNewbornProcesses(now)
	c.takeSamples(now)
}

// lookAtAllNewborn looks at the newborn threads of all processes, and takes the kernel's samples in between. Those that
// ptrace looks at come first: what they do is soon over, and samples do not run away. Threads that are sampled come
// after their samples: their clocks are read then, and what was sampled before must lie before that.
func (c *Tracer) lookAtAllNewborn(now int64) {
	for _, p := range c.procs {
		if !p.sampled {
			c.lookAtNewborn(p, now)
		}
	}
	c.meetNewbornProcesses(now)
	c.takeSamples(now)
	for _, p := range c.procs {
		if p.sampled {
			c.lookAtNewborn(p, now)
		}
	}
}

// lookAtNewborn looks at the threads that were born since the last tick, before anything else is done. What they do
// first is soon over, and others are born meanwhile whom the list did not show. So nothing is listed but them, and the
// tracer does not sleep in between. A look stands for a moment: where one comes too late, because its thread has
// ended, whoever is there by now is looked at instead.
func (c *Tracer) lookAtNewborn(p *process, now int64) {
	if !p.list.begun {
		return
	}
	for range mostTurns {
		before, gone := len(p.idle.Awake), c.counts.failed[refusal.Gone]
		c.meetNewborn(p, now)
		newborn := p.idle.Awake[before:]
		if len(newborn) == 0 {
			return
		}
		for _, n := range newborn {
			th := n.Owner.(*thread)
			th.metAt = c.counts.ticks
			if procmem.Now()-c.now.at > c.ticks.Period()/longMeeting {
				c.makeWay() // there are so many that none is met in time
			}
			c.begin(th)
		}
		if c.counts.failed[refusal.Gone] == gone {
			return
		}
		c.births.again()
		p.list.youngest = 0
	}
}

// meetNewborn takes the threads on that were born since the end of a process's list was last looked at.
func (c *Tracer) meetNewborn(p *process, now int64) {
	l := &p.list
	births := c.births.at(c.counts.ticks)
	if births == l.births || now-l.youngest < int64(len(l.tids))*skipCost*skipShare {
		return
	}
	there, err := l.tasks.Count()
	if p.clockDue(now) {
		p.readClockAt(now, err == nil && there > 0)
	}
	if err != nil || p.clock.valid && now-p.clock.moved > stillFor {
		return
	}
	l.births, l.youngest = births, now
	for back := firstTail; ; back *= 8 {
		from := max(there-back, 0)
		c.births.wait()
		tids, err := l.tasks.ListFrom(from, c.births.tids[:0])
		c.births.wait()
		c.births.tids = tids
		if err != nil {
			return
		}
		if from == 0 || len(tids) > 0 && l.knows(tids[0]) {
			break
		}
	}
	for _, tid := range c.births.tids {
		if !l.knows(tid) {
			c.meetYoungest(p, tid, now)
		}
	}
}

// meetYoungest meets a thread that was born since its process's threads were listed.
func (c *Tracer) meetYoungest(p *process, tid int, now int64) {
	if th := c.meet(p, tid, now); th != nil {
		th.listing = p.list.n
		p.list.tids = append(p.list.tids, tid)
	}
	c.serveStopped()
}

// knows reports whether a thread was taken on or refused.
func (l *threadList) knows(tid int) bool {
	if l.byTID[tid] != nil {
		return true
	}
	_, refused := l.unwanted[tid]
	return refused
}
