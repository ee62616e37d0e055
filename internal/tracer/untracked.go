// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/frames"
	"prywalk/internal/descendants"
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
)

// # Processes that nobody meets
//
// Most commands of a script end before the search for children finds them. The kernel's samples show them all the same,
// and its records say what they run (package descendants). So a sample of one is kept until its process has ended, or
// is met. Then it has a claim on what the children of the nearest process that was met have used
// ([attribute.Process.ClaimOfChild]), or on what the process itself has.

const (
	// mostUntrackedShots bounds how many of their samples wait.
	mostUntrackedShots = 1024
	// untrackedFor is for how long a sample waits for its process to be met or to end, in nanoseconds.
	untrackedFor = 1e9
)

// untrackedProcesses are the descendants of those sampled that nobody has met. They belong to the tracer.
type untrackedProcesses struct {
	// table has them; nil: children are not followed.
	table   *descendants.Table[*handover.Process, untrackedShot]
	waiting int   // samples
	swept   int64 // when those without an end were looked for, CLOCK_MONOTONIC ns
}

// untrackedShot is a sample of such a process.
type untrackedShot struct {
	tid  int
	shot *look.Shot
	in   *handover.Program
}

// drain drains the kernel's records.
func (u *untrackedProcesses) drain(r *perfevents.Reader, take func(*perfevents.Record)) {
	if u.table == nil {
		r.Drain(take)
		return
	}
	u.table.Drain(r, take)
}

// keepUntracked keeps a sample of a process that nobody has met, if it is one of those sampled.
func (c *Tracer) keepUntracked(r *perfevents.Record) {
	k := &c.samples
	if k.untracked.table == nil {
		return
	}
	p := k.untracked.table.Find(r.PID)
	switch {
	case p == nil:
	case !r.Usable() && !r.NoUser:
		k.unusable++
	case k.untracked.waiting >= mostUntrackedShots || c.Pool.Waiting() > MaxBacklog:
		k.dropped++
	default:
		k.taken++
		k.untracked.waiting++
		p.Kept = append(p.Kept, untrackedShot{r.TID, c.looker.FromSample(r), p.At(r.Time)})
	}
}

// handOverUntracked hands over the samples of processes that have ended, or that were not met for long.
func (c *Tracer) handOverUntracked(now int64) {
	u := &c.samples.untracked
	if u.table == nil {
		return
	}
	if now-u.swept >= checkEvery {
		u.swept = now
		u.table.Sweep()
	}
	for p := range u.table.All() {
		if p.Ended || len(p.Kept) > 0 && now-p.Kept[0].shot.At > untrackedFor {
			for _, s := range p.Kept {
				c.claimInto(handover.ChildSampled, p.Waiter, s)
			}
			u.waiting -= len(p.Kept)
			p.Kept = p.Kept[:0]
		}
	}
}

// claimInto hands over a sample that has a claim.
func (c *Tracer) claimInto(kind handover.Kind, to *handover.Process, s untrackedShot) {
	s.in.Keep()
	c.claim(handover.Event{Kind: kind, Proc: to, Shot: s.shot, Ran: s.in})
}

// meetProcess gives a process that was just met the samples that came before. Those of what it ran before it called
// exec are of no thread of it: they have a claim on what is unseen of it.
func (c *Tracer) meetProcess(p *process) {
	if c.newborns != nil {
		c.walked()
		if y := c.newborns.Meet(p.target.PID, p.shared); y != nil && y.Kept != nil {
			p.youth = y.Kept // until its first thread is met
			c.closeNewborn(p.youth)
			c.claimWithoutLooks(y.Waiter, p.youth)
		}
	}
	u := &c.samples.untracked
	if u.table == nil {
		return
	}
	before := u.table.Track(p.target.PID, p.shared)
	if before == nil {
		return
	}
	u.waiting -= len(before.Kept)
	for _, s := range before.Kept {
		last := s.in == before.Last() && s.shot.Regs.Arch != frames.ArchUnknown
		if last && p.sampled && len(c.samples.strays) < mostStrays {
			c.samples.strays = append(c.samples.strays, stray{p, s.tid, s.shot})
		} else {
			c.claimInto(handover.SampledEnded, p.shared, s)
		}
	}
}

// forgetProcess takes note that a process that was met has ended.
func (c *Tracer) forgetProcess(p *process) {
	if p.youth != nil {
		c.endNewborn(p.youth) // its thread was never listed
		p.youth = nil
	}
	if c.newborns != nil {
		c.walked()
		c.newborns.Forget(p.target.PID, p.shared)
	}
	if t := c.samples.untracked.table; t != nil {
		t.Forget(p.target.PID, p.shared)
	}
	if c.hearKin(c.now.at); c.kin.table != nil {
		p.end.Counted = c.kin.table.Leave(p.target.PID, p.shared)
	}
}

// forgetUntracked ends the account of processes that nobody has met. If the recording goes on, somebody may still
// wait for them, and their samples are handed over. Else they have a claim on nothing.
func (c *Tracer) forgetUntracked(goesOn bool) {
	u := &c.samples.untracked
	if u.table == nil {
		return
	}
	for p := range u.table.All() {
		for _, s := range p.Kept {
			if goesOn {
				c.claimInto(handover.ChildSampled, p.Waiter, s)
			} else {
				c.looker.Drop(s.shot)
			}
		}
	}
	*u = untrackedProcesses{}
}

// # Without the right to sample all processors
//
// The kernel tells an ordinary user, too, who is born of his processes, what program runs, and who comes to a processor
// and leaves it ([perfevents.OpenKin]). So what each process that nobody meets has used is known, by program. The
// stacks are those of the ticks that met such processes (newborn_processes.go).

const (
	// mostFollowed bounds the descriptors that one process may take for that. Of one with more threads nothing is told.
	mostFollowed = 512
	// mostRecords is how many records a second the kernel may write: each costs the target some 0.3 µs.
	mostRecords = 20000
	// mostInherited is how many events the threads may have: each is more than a kilobyte of the kernel's memory.
	mostInherited = 8192
)

// kin is what the kernel tells of descendants without samples.
type kin struct {
	reader  *perfevents.Reader // nil: nothing
	table   *descendants.Table[*handover.Process, struct{}]
	checked int64 // when records were counted last, CLOCK_MONOTONIC ns
	records int   // since then
}

// hear has the kernel tell of descendants from now on, if it may.
func (c *Tracer) hear(r *perfevents.Reader) {
	if r == nil || c.newborns == nil || c.samples.untracked.table != nil {
		return
	}
	// What it has told already is of a command that was launched for the recording.
	c.kin = kin{reader: r, table: descendants.New[*handover.Process, struct{}](), checked: procmem.Now()}
}

// followKin has the kernel tell of the descendants of a process that was just met. Of one that was born since then it
// does already.
func (c *Tracer) followKin(p *process) {
	k := &c.kin
	if k.reader == nil {
		return
	}
	k.table.Meet(p.target.PID, p.shared)
	if p.shared.FromStart {
		return
	}
	tids, err := p.list.tasks.ListFrom(0, nil)
	if err != nil || len(tids)*k.reader.Events() > mostFollowed {
		return
	}
	for _, tid := range tids {
		if !c.files.Take(k.reader.Events()) {
			return
		}
		if k.reader.Follow(tid) != nil { // it is gone, or refused: its children are in the kernel's sum all the same
			c.files.Give(k.reader.Events())
		}
	}
}

// hearKin hands over what processes have used that have ended and that nobody met.
func (c *Tracer) hearKin(now int64) {
	k := &c.kin
	if k.reader == nil {
		return
	}
	k.records += k.table.DrainClocks(k.reader)
	if since := now - k.checked; since >= checkEvery {
		if float64(k.records) > mostRecords*seconds(since) || k.reader.Moved() || c.inherited() > mostInherited {
			c.leaveKin()
			return
		}
		k.checked, k.records = now, 0
		k.table.Sweep()
	}
	for p := range k.table.All() {
		if p.Ended {
			c.claimSpent(p, true)
		}
	}
}

// inherited gives how many events the threads have that are known, at most.
func (c *Tracer) inherited() (n int) {
	for _, p := range c.procs {
		n += len(p.list.byTID)
	}
	return n * c.kin.reader.Events()
}

// claimSpent hands over what a process has used that nobody met. exact: it is all of it.
func (c *Tracer) claimSpent(p *descendants.Untracked[*handover.Process, struct{}], exact bool) {
	for i, s := range p.Spent {
		s.Program.Keep()
		c.out.add(handover.Event{
			Kind: handover.ChildKnown, Proc: p.Waiter, Ran: s.Program, At: c.now.at, Length: s.NS, Exact: exact,
			Last: i == len(p.Spent)-1,
		})
	}
}

// leaveKin goes on without being told.
func (c *Tracer) leaveKin() {
	k := &c.kin
	for p := range k.table.All() {
		c.claimSpent(p, false)
	}
	c.files.Give(k.reader.Events() * k.reader.Followed())
	k.reader.Close()
	c.kin = kin{}
}

// hold has the kernel tell nothing until the function that it gives is called.
func (k *kin) hold() (resume func()) {
	if k.reader == nil {
		return func() {}
	}
	k.reader.Pause()
	return func() {
		k.reader.Resume()
		k.table.Interrupted()
	}
}
