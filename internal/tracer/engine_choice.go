// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"strings"

	"prywalk/internal/handover"
	"prywalk/internal/runstats"
)

// # Which engine for which process
//
// A sample of the kernel's has registers and one piece of one stack. A stop can copy more. So each process says what
// its samples lack, and the choice is made by that, never by a program's name:
//
//   - frames that lie elsewhere than on the stack (a run-time system's plan, package managed): ptrace looks, always;
//   - further stacks that a walk goes on to, as the code image tells beforehand ([look.TaskStacks]): ptrace looks, if
//     the choice is the sampler's ([Options.Choose]);
//   - anything else that shows in incomplete stacks: the same, once a hundredth of the process's samples has shown it;
//   - the same of children that nobody meets, all of them together: ticks find them, and stop who runs;
//   - samples: it runs, and none come that can be walked (32-bit code): ptrace looks, if only to say why.
//
// A process that runs another program is judged anew.

// choose gives each process to an engine.
func (c *Tracer) choose() {
	k := &c.samples
	if k.reader == nil || c.ending { // see seeSomebody
		return
	}
	for _, p := range c.procs {
		c.chooseFor(p)
	}
	if k.untracked.table != nil && c.opts.Choose && c.UnmetLackRoots.Load() {
		c.forgetUntracked(true) // ticks find them from now on (newborn_processes.go)
		k.leftChildren = true
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
func (c *Tracer) chooseFor(p *process) {
	switch {
	case c.samples.reader == nil:
	case p.shared.Lack().TakesStops(c.opts.Choose):
		c.leaveToPtrace(p)
	default:
		c.samples.insists(p)
		c.sample(p)
	}
}

// insists counts a process of which samples lack something and which is sampled all the same, as the user insists.
func (k *kernelSamples) insists(p *process) {
	if l := p.shared.Lack(); p.insisted != l && !p.gone {
		k.insisted[p.insisted]--
		k.insisted[l]++
		p.insisted = l
	}
}

// wanting says of which processes samples are incomplete as the user insists on them, "" if there are none.
func (k *kernelSamples) wanting() string {
	var parts []string
	for l := handover.LacksNothing + 1; l < handover.NumLacks; l++ {
		if n := k.insisted[l]; n > 0 {
			parts = append(parts, l.Note(n))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "incomplete samples of " + strings.Join(parts, ", ") + " (--engine auto stops their threads instead)"
}

// sample has the kernel sample a process's running threads.
func (c *Tracer) sample(p *process) {
	if p.sampled || p.gone {
		return
	}
	if p.sampled = true; !p.served {
		p.served = true
		c.samples.served++
	}
	c.samples.of[p.target.PID] = p
	c.samples.anyDepth()
	p.ranUnheard = p.clock.ran()
	if c.samples.reader.Own() {
		return // each thread once it is met running
	}
	for _, th := range p.list.inOrder {
		th.look.SetSampled(c.samples.reader.Stack())
	}
}

// leaveToPtrace has ptrace look at a process's running threads, as samples lack something.
func (c *Tracer) leaveToPtrace(p *process) {
	if l := p.shared.Lack(); p.left != l && !p.gone {
		c.samples.left[p.left]--
		c.samples.left[l]++
		c.samples.insisted[p.insisted]--
		p.left, p.insisted = l, handover.LacksNothing
	}
	c.stopSampling(p)
}

// checkSamplesOf has ptrace look at a process that runs and of which no samples come, though others have some.
func (c *Tracer) checkSamplesOf(p *process) {
	if p.heard != p.heardOf || !p.sampled {
		p.heardOf, p.ranUnheard = p.heard, p.clock.ran()
		return
	}
	if p.clock.ran()-p.ranUnheard >= silentPeriods*c.samples.reader.Period() {
		p.shared.Lacks(handover.LacksSamples)
	}
}

// stats says what the engine did.
func (k *kernelSamples) stats(s *runstats.Observed, n *counts) {
	s.Engine, s.Sampled, s.Claimed = "ptrace", n.sampled, n.claimed
	reader := k.reader
	switch {
	case k.reader != nil && (k.served > 0 || n.sampled > 0):
		s.Engine = "perf"
	case k.last != nil:
		s.Engine, s.EngineNote, reader = "perf, then ptrace", k.gaveUp, k.last
	}
	for _, note := range []string{k.leftTo(s.Engine), k.leftThreads(), k.wanting()} {
		if note != "" {
			s.EngineNote = strings.TrimPrefix(s.EngineNote+"; "+note, "; ")
		}
	}
	if reader != nil {
		s.LostSamples, s.ThrottledSamples = reader.Lost()+k.dropped, reader.Throttled()
		s.LostOfTargets = reader.LostOfTargets() + k.dropped
		s.SampleStack = reader.Stack()
	}
}

// leftTo tells of the processes and threads that were ptrace's, "" if there were none.
func (k *kernelSamples) leftTo(engine string) string {
	var parts []string
	for l := handover.LacksNothing + 1; l < handover.NumLacks; l++ {
		if n := k.left[l]; n > 0 {
			parts = append(parts, l.Note(n))
		}
	}
	if k.leftChildren {
		parts = append(parts, "short-lived children with stacks that samples do not show whole")
	}
	if k.deep == 1 {
		parts = append(parts, "1 thread with deep stacks")
	} else if k.deep > 1 {
		parts = append(parts, fmt.Sprintf("%d threads with deep stacks", k.deep))
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
