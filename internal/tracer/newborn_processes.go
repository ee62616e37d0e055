// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"

	"golang.org/x/sys/unix"

	"prywalk/internal/attribute"
	"prywalk/internal/code"
	"prywalk/internal/descendants"
	"prywalk/internal/handover"
	"prywalk/internal/look"
	procs "prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/runstats"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

// # Processes that were just born, without the kernel's samples
//
// Each tick finds those by their numbers (package descendants) and marks who is on a processor. Who is marked is looked
// at, too: it is stopped, once and alone. To attach to a process in exec lasts until that is over, so nobody else may
// be stopped meanwhile, or be about to stop. A mark without a look tells the program alone. When such a process has
// ended and nobody has opened it, each mark has a claim on what the children of its nearest ancestor have used. It
// stands for the time between two ticks. If it is opened, the looks are its first thread's.
//
// Who is not looked at because another one is, is so by chance. His mark stands where looks at the same program have
// found others ([attribute.MetMissed]).
//
// Ticks that come late, because prywalk waits for a processor, come when somebody has just left one. Then there are too
// few marks. But who is there is known, and how much he has used so far. So that is handed over, too.

type newborns = descendants.Newborns[*handover.Process, *young]

// young is what the tracer keeps of a newborn process.
type young struct {
	marks  []mark
	look   *look.Thread // nil: it was not looked at
	memory *procmem.Memory
	maps   code.Listing
	// refused: this user may not look at it.
	refused bool
}

// mark is a tick that found a newborn process on a processor.
type mark struct {
	at, apart int64
	ran       *handover.Program
	shot      *look.Shot    // nil: no look has shown where
	met       attribute.Met // without one
}

// meetNewbornProcesses marks the processes that were born lately and are on a processor, and looks at them.
func (c *Tracer) meetNewbornProcesses(now int64) {
	n := c.newborns
	if n == nil || c.samples.untracked.table != nil {
		return
	}
	if !c.findNewborn(now) || n.None() {
		return
	}
	for y, over := range n.Tick(now, c.markNewborn) {
		c.claimUsed(y)
		if y.Kept == nil {
			continue
		}
		if !over {
			c.claimMarks(y.Waiter, y.Kept.marks)
		}
		c.endNewborn(y.Kept)
	}
}

// findNewborn finds the processes that were born since it was called last; false if an ordinary thread is at it.
func (c *Tracer) findNewborn(now int64) (done bool) {
	n := c.newborns
	c.births.at(c.counts.ticks)
	last := c.births.last()
	switch {
	case c.walks.away():
		return false
	case c.walks.walker == nil:
		ptrace.Pin() // a thread that was asked to stop at an earlier tick may do so meanwhile
		n.Born(last, now)
		ptrace.Unpin()
	case n.Any(last):
		return c.elsewhere(func() { n.Born(last, now) })
	}
	return true
}

// exiting is PF_EXITING of the kernel's include/linux/sched.h.
const exiting = 0x04

// mayPrecedeExec reports whether who is about to call exec may be looked at. A set-user-ID program does not get its
// rights if somebody without CAP_SYS_PTRACE is attached at that moment.
func mayPrecedeExec() bool {
	var s procmem.Status
	return procmem.ReadStatus(os.Getpid(), &s) == nil && s.CapEff>>unix.CAP_SYS_PTRACE&1 != 0
}

// markNewborn marks a process if it is on a processor, and begins a look at it.
func (c *Tracer) markNewborn(y *descendants.Newborn[*handover.Process, *young], s *procmem.Stat) {
	if !c.looker.OnProcessor(y.Files) {
		return
	}
	ptrace.Pin() // for what it allocates, see meet
	k := y.Kept
	if k == nil {
		k = &young{}
		y.Kept = k
	}
	m := mark{at: c.now.at, apart: c.now.apart, ran: &handover.Program{Name: s.Comm.String()}, met: attribute.MetUnseen}
	if s.Flags&exiting != 0 {
		m.met = attribute.MetInExit
	}
	k.marks = append(k.marks, m)
	ptrace.Unpin()
	if m.met == attribute.MetUnseen && !k.refused && s.Threads == 1 && (c.precedesExec || !c.newborns.MayExec(y, s)) {
		c.lookAtNewbornProcess(k, y.PID)
	}
}

// lookAtNewbornProcess begins a look at a process that was just marked, if nobody else is being looked at.
func (c *Tracer) lookAtNewbornProcess(k *young, pid int) {
	if c.ending || c.walks.away() || c.drawing() || c.looker.Pending() > 0 || !c.quota.goesOn() || !c.roomForCopy() {
		k.marks[len(k.marks)-1].met = attribute.MetMissed
		return
	}
	var err error
	if !c.elsewhere(func() { err = k.open(pid, c.files) }) {
		k.marks[len(k.marks)-1].met = attribute.MetMissed
		return
	}
	if err != nil {
		return
	}
	c.counts.attempted++
	ptrace.Pin() // from the interrupt on nothing may come in between
	defer ptrace.Unpin()
	outcome, s, err := c.looker.Begin(k.look)
	switch {
	case err != nil:
		c.newbornLooked(k, nil, err)
	case outcome == look.Reused:
		c.counts.reused++
		c.counts.claimed++
	case outcome == look.SleptAgain:
		c.counts.peeked++
		c.counts.claimed++
	case outcome == look.Queued:
		c.counts.attempted--
		c.counts.queued++
	case outcome == look.Done: // it went to sleep just now
		c.newbornLooked(k, s, nil)
	}
	c.serve(err == nil && outcome == look.Pending && !k.look.Queued())
}

// open opens what a look at a newborn process needs, or opens again what an exec has replaced.
func (k *young) open(pid int, budget *procmem.Budget) error {
	if k.look == nil {
		k.memory = procmem.OpenMemory(pid)
		k.look = look.NewThread(pid, pid, budget)
		k.look.Owner, k.look.Memory = k, k.memory
		_ = k.look.Files().Hold() // it is gone, else, which the look finds
	} else if k.memory.Stale() {
		k.memory.Reopen(pid)
	}
	if err := k.maps.Read(pid); err != nil {
		return err
	}
	k.memory.SetSpans(k.maps.Spans)
	return nil
}

// newbornLooked takes what a look at a newborn process came to.
func (c *Tracer) newbornLooked(k *young, s *look.Shot, err error) {
	if err != nil {
		r := look.Reason(err)
		c.counts.fail(r)
		k.refused = k.refused || r == refusal.Denied
		return
	}
	c.counts.claimed++ // unless it becomes its thread's
	if s.How == look.ByFreeze {
		s.Stopped = c.quota.ownPart(s.Stopped)
		if s.Stopped > c.counts.freezes.max {
			c.counts.longest = runstats.Freeze{PID: k.look.PID, TID: k.look.TID, Copied: s.Copied()}
		}
		c.counts.froze(s)
		c.budget.Froze(s.Stopped)
		c.callEffects.add(s)
	} else {
		c.counts.peeked++
	}
	m := &k.marks[len(k.marks)-1]
	switch {
	case m.shot != nil || m.met == attribute.MetInExit:
		c.looker.Drop(s)
	case s.How == look.ByFreeze && procs.SyscallName(s.Regs.Arch, s.BrokenCall) == "execve" || !k.maps.HasCode(s.Regs.PC):
		m.met = attribute.MetInExec // its code is another one's since
		c.looker.Drop(s)
	default:
		// That it was on a processor is why it was looked at.
		s.State, s.OnCPU, s.Basis = sample.Running, true, sample.Exact
		m.shot, m.ran.Maps = s, k.maps.Code
	}
}

// claimWithoutLooks hands over the marks of a process that was just opened which no look belongs to: its own account
// cannot have them. Mostly it ends before its next look.
func (c *Tracer) claimWithoutLooks(waiter *handover.Process, k *young) {
	for i := range k.marks {
		if k.marks[i].shot == nil {
			c.claimMarks(waiter, k.marks[i:i+1])
		}
	}
}

// claimMarks hands over the marks of a process that has ended.
func (c *Tracer) claimMarks(waiter *handover.Process, marks []mark) {
	for i := range marks {
		m := &marks[i]
		e := handover.Event{
			Kind: handover.ChildSampled, Proc: waiter, Ran: m.ran, Shot: m.shot, At: m.at, Length: m.apart, Met: m.met,
		}
		if m.shot != nil {
			c.now.copies += m.shot.Waits()
			m.shot = nil
		}
		c.out.add(e)
	}
}

// claimUsed hands over what a process that nobody has opened is known to have used.
func (c *Tracer) claimUsed(y *descendants.Newborn[*handover.Process, *young]) {
	if c.kin.reader != nil {
		return // the kernel tells all of it
	}
	for _, u := range y.Used {
		c.out.add(handover.Event{
			Kind: handover.ChildKnown, Proc: y.Waiter, Ran: &handover.Program{Name: u.Name}, At: c.now.at, Length: u.NS,
		})
	}
}

// endNewborn lets go of a newborn process that has ended, or was opened.
func (c *Tracer) endNewborn(k *young) {
	for i := range k.marks {
		if s := k.marks[i].shot; s != nil {
			c.looker.Drop(s)
		}
	}
	k.marks = nil
	c.closeNewborn(k)
}

// endAllNewborn lets go of all newborn processes, at the end. No look is pending.
func (c *Tracer) endAllNewborn() {
	if c.newborns == nil {
		return
	}
	c.walked()
	for y := range c.newborns.All() {
		if y.Files.Close(); y.Kept != nil {
			c.endNewborn(y.Kept)
		}
	}
	c.newborns = nil
}

// closeNewborn closes the files of a newborn process. A look at it that is pending is given up.
func (c *Tracer) closeNewborn(k *young) {
	if k.look != nil {
		if c.looker.GiveUp(k.look) {
			c.counts.attempted--
			c.counts.queued++
		}
		k.look.Close()
		k.memory.Close()
		k.look = nil
	}
}

// grownUp gives the first thread of a process that was just opened the looks at it from before.
func (c *Tracer) grownUp(th *thread) {
	k := th.proc.youth
	if k == nil || th.look.TID != th.proc.target.PID {
		return
	}
	th.proc.youth = nil
	for i := range k.marks {
		m := &k.marks[i]
		if m.shot == nil {
			continue // its claim is the parent's
		}
		th.shared.BornAt = min(th.shared.BornAt, m.at, m.shot.At)
		c.now.copies += m.shot.Waits()
		c.counts.claimed--
		c.out.add(handover.Event{Kind: handover.Looked, Thread: th.shared, Shot: m.shot, Ran: m.ran, Length: m.apart})
		m.shot = nil
	}
}
