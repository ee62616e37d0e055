// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"fmt"
	"strings"

	"prywalk/internal/handover"
	"prywalk/internal/perfevents"
	"prywalk/internal/runstats"
)

// choice chooses for each process whether its running threads are sampled by the kernel or stopped. A sample has
// registers and one piece of one stack; a stop can copy more. The choice depends on what samples lack
// ([handover.FallbackReason]), never on a program's name:
//
//   - frames that are not on the stack (package managed): stopped, always;
//   - further stacks, known from the code image: stopped, unless the user insists on samples ([Source.Choose]);
//   - incomplete stacks for another reason: the same, once a hundredth of the samples shows it;
//   - the same of all children that are not attached: ticks find and stop them;
//   - samples: none can be walked (32-bit code): stopped.
//
// After exec a process is judged again. If no samples come at all, all processes are stopped.
type choice struct {
	*Engine
	choose bool // false: the user insists on samples

	served       int64
	left         [handover.NumLacks]int64 // stopped, by what samples lack
	insisted     [handover.NumLacks]int64 // sampled all the same
	leftChildren bool

	checked        int64
	receivedBefore int64
	ranBefore      int64  // CPU time of the targets then, ns; 0: begin to count
	gaveUp         string // why samples were given up; "": not
	last           *perfevents.Reader
}

// silentPeriods is the CPU time without samples, in periods, after which none are expected (chance below e^-50).
const silentPeriods = 50

func (c *choice) chooseAll() {
	s := c.Engine
	if s.reader == nil || c.Ending {
		return
	}
	for _, p := range c.procs {
		c.chooseFor(p)
	}
	if s.ShowsChildren() && c.choose && c.UndiscoveredLackRoots.Load() {
		s.children.end(true)
		c.leftChildren = true
	}
	switch unused := len(s.sampled) == 0 && !s.ShowsChildren(); {
	case unused && !s.paused:
		s.reader.Pause()
		s.paused = true
	case !unused && s.paused:
		s.reader.Resume()
		s.paused, c.ranBefore = false, 0
	}
}

func (c *choice) chooseFor(p *process) {
	switch {
	case c.reader == nil:
	case p.Shared.FallbackReason().TakesStops(c.choose):
		c.leave(p)
	default:
		c.insist(p)
		c.sample(p)
	}
}

func (c *choice) insist(p *process) {
	if l := p.Shared.FallbackReason(); p.insisted != l {
		c.insisted[p.insisted]--
		c.insisted[l]++
		p.insisted = l
	}
}

func (c *choice) sample(p *process) {
	if p.on {
		return
	}
	if p.on = true; !p.served {
		p.served = true
		c.served++
	}
	c.sampled[p.Target.PID] = p
	c.reader.CopyAll(&c.length) // the stacks of a new process may be deep
	p.ranBefore = p.Clock.Ran()
	if c.reader.Own() {
		return
	}
	for _, th := range p.threads {
		th.Observed.SetSampled(c.reader.Stack())
	}
}

func (c *choice) leave(p *process) {
	if l := p.Shared.FallbackReason(); p.left != l {
		c.left[p.left]--
		c.left[l]++
		c.insisted[p.insisted]--
		p.left, p.insisted = l, handover.FallbackNone
	}
	c.unsample(p)
}

func (c *choice) unsample(p *process) {
	if !p.on {
		return
	}
	s := c.Engine
	s.claimUnassigned(p)
	for _, th := range p.threads {
		s.reportWaiting(th)
		s.own.unfollow(th)
		th.Observed.SetSampled(0)
	}
	p.on = false
	s.forget(p)
}

func (c *choice) checkIfDue(now int64) {
	if now-c.checked >= checkEvery {
		c.checked = now
		c.check(now)
	}
}

func (c *choice) check(now int64) {
	s := c.Engine
	if !s.reader.Check() {
		c.giveUp("a processor came, and the kernel refuses samples of it")
		return
	}
	if s.reader.Own() {
		return
	}
	ran, all := c.host.Ran(now), s.showAll() && !c.leftChildren
	if s.n.received != c.receivedBefore || c.ranBefore == 0 || !all {
		if c.receivedBefore, c.ranBefore = s.n.received, max(ran, 1); !all {
			c.ranBefore = 0
		}
		for _, p := range c.procs {
			c.checkProcess(p)
		}
		return
	}
	if ran-c.ranBefore >= silentPeriods*s.reader.Period() {
		c.giveUp(fmt.Sprintf("no samples came for %.1f s of processor time", float64(ran-c.ranBefore)/1e9))
	}
}

func (c *choice) checkProcess(p *process) {
	q := p
	if q.received != q.receivedBefore || !q.on {
		q.receivedBefore, q.ranBefore = q.received, p.Clock.Ran()
		return
	}
	if p.Clock.Ran()-q.ranBefore >= silentPeriods*c.reader.Period() {
		p.Shared.SetFallback(handover.FallbackSamples)
	}
}

// restartSilence notes that no samples could come until now.
func (c *choice) restartSilence(now int64) {
	c.ranBefore = 0
	c.host.ReadClocks(now)
	for _, p := range c.procs {
		p.ranBefore = p.Clock.Ran()
	}
}

func (c *choice) giveUp(why string) {
	for _, p := range c.procs {
		c.unsample(p)
	}
	s := c.Engine
	s.children.end(true)
	s.reader.Pause()
	c.gaveUp, c.last, s.reader = why, s.reader, nil
}

// ensureOne stops running threads at the last tick of a recording without any stack.
func (c *choice) ensureOne(now int64) {
	if c.TakeAll(now); c.Sampled > c.Claimed || c.host.Copied() {
		return
	}
	for _, p := range c.procs {
		for _, th := range p.threads {
			if len(th.waiting) > 0 {
				return
			}
		}
	}
	for _, p := range c.procs {
		c.unsample(p)
	}
}

func (c *choice) stats(o *runstats.Observed) {
	s := c.Engine
	o.Engine = "ptrace"
	reader := s.reader
	switch {
	case s.reader != nil && (c.served > 0 || c.Sampled > 0):
		o.Engine = "perf"
	case c.last != nil:
		o.Engine, o.EngineNote, reader = "perf, then ptrace", c.gaveUp, c.last
	}
	for _, note := range []string{c.leftNote(o.Engine), s.own.note(), c.insistedNote()} {
		if note != "" {
			o.EngineNote = strings.TrimPrefix(o.EngineNote+"; "+note, "; ")
		}
	}
	if reader != nil {
		o.LostSamples, o.ThrottledSamples = reader.Lost()+s.n.dropped, reader.Throttled()
		o.LostOfTargets = reader.LostOfTargets() + s.n.dropped
		o.SampleStack = reader.Stack()
	}
}

// insistedNote gives "" if there are none.
func (c *choice) insistedNote() string {
	parts := notes(&c.insisted)
	if len(parts) == 0 {
		return ""
	}
	return "incomplete samples of " + strings.Join(parts, ", ") + " (--engine auto stops their threads instead)"
}

// leftNote gives "" if there are none.
func (c *choice) leftNote(engine string) string {
	parts := notes(&c.left)
	if c.leftChildren {
		parts = append(parts, "short-lived children with stacks that samples do not show whole")
	}
	if n := c.n.deep; n == 1 {
		parts = append(parts, "1 thread with deep stacks")
	} else if n > 1 {
		parts = append(parts, fmt.Sprintf("%d threads with deep stacks", n))
	}
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts, ", ")
	if engine == "ptrace" {
		return text
	}
	return "by stopping threads: " + text
}

func notes(by *[handover.NumLacks]int64) (parts []string) {
	for l := handover.FallbackNone + 1; l < handover.NumLacks; l++ {
		if n := by[l]; n > 0 {
			parts = append(parts, l.Note(n))
		}
	}
	return parts
}
