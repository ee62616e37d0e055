package sampler

import (
	"fmt"
	"strings"

	"prywalk/frames"
	"prywalk/internal/callstack"
	"prywalk/internal/look"
)

// # Which engine for which process
//
// A sample of the kernel's has registers and one piece of one stack. A stop can copy more. So each process says what
// its samples lack, and the choice is made by that, never by a program's name:
//
//   - frames that lie elsewhere than on the stack (a run-time system's plan, package managed): ptrace looks, always;
//   - further stacks that a walk goes on to, as the code image tells beforehand ([look.TaskStacks]): ptrace looks, if the
//     choice is the sampler's ([Options.Choose]);
//   - anything else that shows in incomplete stacks: the same, once a hundredth of the process's samples has shown it;
//   - samples: it runs, and none come that can be walked (32-bit code): ptrace looks, if only to say why.
//
// A process that runs another program is judged anew.

// lack says what the kernel's samples lack of a process.
type lack uint32

const (
	lacksNothing lack = iota
	lacksStacks       // further stacks
	lacksRoots        // the outer ends of stacks, for whatever reason
	lacksSamples      // all
	lacksFrames       // frames that lie elsewhere
	numLacks
)

// String says it for people, after a number of processes.
func (l lack) String() string {
	return [...]string{
		"", "with stacks in several places", "with stacks that samples do not show whole", "of which no samples came",
		"with frames elsewhere than on the stack",
	}[l]
}

// takesStops reports whether ptrace is to look at such a process. choose: the choice is the sampler's.
func (l lack) takesStops(choose bool) bool { return l >= lacksSamples || choose && l != lacksNothing }

const (
	// A process goes to ptrace if at least leastWanting of its samples, and one in wantingShare, had no complete stack.
	// Below eight the share would be known to no better than a third.
	leastWanting = 8
	wantingShare = 100
)

// samplesWalked counts the walks of a process's samples. It belongs to the accountant.
type samplesWalked struct{ all, wanting int64 }

// lacks notes what samples lack of the process. What it lacks most stays, also where the tracer and the accountant
// note something at once.
func (p *processAccount) lacks(l lack) {
	for {
		before := p.lack.Load()
		if uint32(l) <= before || p.lack.CompareAndSwap(before, uint32(l)) {
			return
		}
	}
}

// foreseeLack says what samples will lack of the process, by its code. It forgets what was found of another program.
func (p *processAccount) foreseeLack(furtherStacks bool) {
	l := lacksNothing
	switch {
	case callstack.Planned(p.target.Namers()):
		l = lacksFrames
	case furtherStacks:
		l = lacksStacks
	}
	p.walked = samplesWalked{}
	p.lack.Store(uint32(l))
}

// judge takes note of the walk of a sample. A copy that was too short is not held against the process if the next can
// be longer.
func (p *processAccount) judge(s *look.Shot, stop frames.StopReason, away bool) {
	if s.How != look.BySample {
		return
	}
	n := &p.walked
	n.all++
	if stop.Complete() || stop == frames.StopDepth || stop == frames.StopStackCut && !away && !s.Longest() {
		return
	}
	n.wanting++
	if n.wanting >= leastWanting && n.wanting*wantingShare >= n.all {
		p.lacks(lacksRoots)
	}
}

// choose gives each process to an engine.
func (c *tracer) choose() {
	k := &c.samples
	if k.reader == nil || c.ending { // see seeSomebody
		return
	}
	for _, p := range c.procs {
		c.chooseFor(p)
	}
	// With children, what nobody meets is known by samples, too.
	switch idle := len(k.of) == 0 && k.untracked.table == nil; {
	case idle && !k.paused:
		k.reader.Pause() // other programs need not be interrupted for nobody
		k.paused = true
	case !idle && k.paused:
		k.reader.Resume()
		k.paused, k.ran = false, 0
	}
}

// chooseFor gives one process to an engine.
func (c *tracer) chooseFor(p *process) {
	switch {
	case c.samples.reader == nil:
	case lack(p.account.lack.Load()).takesStops(c.opts.Choose):
		c.leaveToPtrace(p)
	default:
		c.sample(p)
	}
}

// sample has the kernel sample a process's running threads.
func (c *tracer) sample(p *process) {
	if p.sampled || p.gone {
		return
	}
	if p.sampled = true; !p.served {
		p.served = true
		c.samples.served++
	}
	c.samples.of[p.target.PID] = p
	p.ranUnheard = p.clock.ran()
	for _, th := range p.list.inOrder {
		th.look.SetSampled(c.samples.reader.Stack())
	}
}

// leaveToPtrace has ptrace look at a process's running threads, as samples lack something.
func (c *tracer) leaveToPtrace(p *process) {
	if l := p.account.lack.Load(); p.left != l && !p.gone {
		c.samples.left[p.left]--
		c.samples.left[l]++
		p.left = l
	}
	c.stopSampling(p)
}

// checkSamplesOf has ptrace look at a process that runs and of which no samples come, though others have some.
func (c *tracer) checkSamplesOf(p *process) {
	if p.heard != p.heardOf || !p.sampled {
		p.heardOf, p.ranUnheard = p.heard, p.clock.ran()
		return
	}
	if p.clock.ran()-p.ranUnheard >= silentPeriods*c.samples.reader.Period() {
		p.account.lacks(lacksSamples)
	}
}

// conclude says what the engine did.
func (k *kernelSamples) conclude(r *Stats, n *counts) {
	r.Engine, r.Sampled, r.Claimed = "ptrace", n.sampled, n.claimed
	reader := k.reader
	switch {
	case k.reader != nil && (k.served > 0 || n.sampled > 0):
		r.Engine = "perf"
	case k.last != nil:
		r.Engine, r.EngineNote, reader = "perf, then ptrace", k.gaveUp, k.last
	}
	if note := k.leftTo(r.Engine); note != "" {
		r.EngineNote = strings.TrimPrefix(r.EngineNote+"; "+note, "; ")
	}
	if reader != nil {
		r.LostSamples, r.ThrottledSamples = reader.Lost()+k.dropped, reader.Throttled()
		r.SampleStack = reader.Stack()
	}
}

// leftTo tells of the processes that were ptrace's, "" if there were none.
func (k *kernelSamples) leftTo(engine string) string {
	var parts []string
	for l := lacksNothing + 1; l < numLacks; l++ {
		if n := k.left[l]; n == 1 {
			parts = append(parts, fmt.Sprintf("1 process %s", l))
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d processes %s", n, l))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts, ", ")
	if engine == "ptrace" {
		return text
	}
	return "by ptrace: " + text
}
