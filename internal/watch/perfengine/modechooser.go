// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"fmt"
	"strings"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// modeChooser chooses for each process whether its running threads are sampled by the kernel or stopped, which can copy
// more, by what samples lack ([target.SampleLack]):
//
//   - frames that are not on the stack (package managed): stopped, always;
//   - further stacks, known from the code image: stopped, unless the user insists on samples ([Source.MayFallBack]), or
//     this thread often waits for a CPU ([ownLoad]): its stops then come late or not at all;
//   - incomplete stacks for another reason: the same, once a hundredth of the samples shows it;
//   - everything, as no sample can be walked (32-bit code): stopped.
//
// An exec renews the choice. If no samples come at all, all processes are stopped.
type modeChooser struct {
	shared       *target.SharedState
	host         target.EngineHost
	mayFallBack  bool // false if the user insists on samples
	stream       *stream
	procs        *processes
	unassigned   *unassignedSamples
	scope        scope
	childSamples *childSamples
	samples      *samples

	anySampled bool
	load       ownLoad
	// Processes by what their samples lack: stopped, or sampled nevertheless.
	fellBack, sampledAnyway [target.NumSampleLacks]int64

	checkedAt      ptrace.Moment
	receivedBefore int64         // at the last check
	ranBefore      time.Duration // CPU time of the targets then; 0 begins a new count
}

// silentPeriods of CPU time without a sample show that none come (chance below e^-50).
const silentPeriods = 50

func (c *modeChooser) chooseAll(now ptrace.Moment) {
	if c.stream.reader == nil || c.shared.Ending {
		return
	}
	if c.mayFallBack {
		c.load.measure(now)
	}
	for _, p := range c.procs.all {
		c.chooseFor(p)
	}
	if c.stream.pauseUnless(len(c.procs.sampledByPID) > 0 || c.childSamples.enabled()) {
		c.ranBefore = 0
	}
}

func (c *modeChooser) chooseFor(p *process) {
	lacks := p.tracked.SampleLack()
	switch {
	case c.stream.reader == nil:
	case lacks.NeedsStops(c.mayFallBack && !c.load.isHigh):
		c.countFellBack(p, lacks)
		c.switchToStops(p)
	default:
		c.countSampledAnyway(p, lacks)
		c.switchToSamples(p)
	}
}

func (c *modeChooser) countSampledAnyway(p *process, lacks target.SampleLack) {
	if p.sampledAnyway != lacks {
		c.sampledAnyway[p.sampledAnyway]--
		c.sampledAnyway[lacks]++
		p.sampledAnyway = lacks
	}
}

func (c *modeChooser) countFellBack(p *process, lacks target.SampleLack) {
	if p.fellBackFor != lacks {
		c.fellBack[p.fellBackFor]--
		c.fellBack[lacks]++
		c.sampledAnyway[p.sampledAnyway]--
		p.fellBackFor = lacks
		p.sampledAnyway = target.LacksNothing
	}
}

func (c *modeChooser) switchToSamples(p *process) {
	if p.mode == modeSamples {
		return
	}
	p.mode = modeSamples
	c.anySampled = true
	c.procs.sampledByPID[p.tracked.Code.PID] = p
	p.ranBefore = p.tracked.Clock.CPUTime()
	for _, th := range p.threads {
		c.scope.begin(th)
	}
}

func (c *modeChooser) switchToStops(p *process) {
	if p.mode != modeSamples {
		return
	}
	c.unassigned.reportProcess(p)
	for _, th := range p.threads {
		c.samples.reportUnplaced(th)
		c.scope.end(th)
		th.tracked.ExemptFromStops(0)
	}
	p.mode = modeStops
	c.procs.dropSampled(p)
}

func (c *modeChooser) switchAllToStops() {
	for _, p := range c.procs.all {
		c.switchToStops(p)
	}
}

func (c *modeChooser) check(now ptrace.Moment) {
	c.checkedAt = now
	if !c.stream.reader.ReopenIfCPUsChanged() {
		c.giveUp("the list of CPUs cannot be read, or the kernel refuses samples after it changed")
		return
	}
	if c.stream.reader.UserOnly() {
		return // what runs in the kernel has none
	}
	ran, received := c.host.ReadTargetCPU(now), c.samples.counts.received
	all := c.procs.allSampled()
	if received != c.receivedBefore || c.ranBefore == 0 || !all {
		c.receivedBefore, c.ranBefore = received, max(ran, 1)
		if !all {
			c.ranBefore = 0
		}
		for _, p := range c.procs.all {
			c.checkProcess(p)
		}
		return
	}
	if ran-c.ranBefore >= silentPeriods*c.stream.reader.Period() {
		c.giveUp(fmt.Sprintf("no samples came for %.1f s of CPU time", float64(ran-c.ranBefore)/1e9))
	}
}

func (c *modeChooser) checkProcess(p *process) {
	if p.received != p.receivedBefore || p.mode != modeSamples {
		p.receivedBefore, p.ranBefore = p.received, p.tracked.Clock.CPUTime()
		return
	}
	if p.tracked.Clock.CPUTime()-p.ranBefore >= silentPeriods*c.stream.reader.Period() {
		p.tracked.RaiseLack(target.LacksSamples)
	}
}

// restartSilence restarts the count after a time in which no samples were taken.
func (c *modeChooser) restartSilence(now ptrace.Moment) {
	c.ranBefore = 0
	c.host.ReadClocks(now)
	for _, p := range c.procs.all {
		p.ranBefore = p.tracked.Clock.CPUTime()
	}
}

func (c *modeChooser) giveUp(why string) {
	c.switchAllToStops()
	c.childSamples.end(true)
	c.stream.giveUp(why)
}

// ensureStack lets the last tick of a recording without any stack stop running threads.
func (c *modeChooser) ensureStack() {
	if c.shared.EngineSamples > c.shared.Unassigned || c.host.HasObservation() {
		return
	}
	for _, p := range c.procs.all {
		for _, th := range p.threads {
			if len(th.unplaced) > 0 {
				return
			}
		}
	}
	c.switchAllToStops()
}

func (c *modeChooser) stats(o *runstats.Observed) {
	o.Engine = "ptrace"
	reader := c.stream.reader
	switch {
	case reader != nil && (c.anySampled && c.scope.samplesAny() || c.shared.EngineSamples > 0):
		o.Engine = "perf"
	case c.stream.gaveUpReader != nil:
		o.Engine = "perf, then ptrace"
		o.FallbackNote = c.stream.gaveUp
		reader = c.stream.gaveUpReader
	}
	for _, note := range []string{c.fallbackNote(o.Engine), c.scope.note(), c.sampledAnywayNote()} {
		if note != "" {
			o.FallbackNote = strings.TrimPrefix(o.FallbackNote+"; "+note, "; ")
		}
	}
	if reader != nil {
		o.LostSamples = reader.Lost() + c.samples.counts.dropped
		o.SampleStack = reader.Stack()
	}
}

func (c *modeChooser) sampledAnywayNote() string {
	parts := notes(&c.sampledAnyway)
	if len(parts) == 0 {
		return ""
	}
	text := "incomplete samples of " + strings.Join(parts, ", ")
	if c.mayFallBack {
		return text + " (the host is busy, and prywalk waits for CPUs: with CAP_SYS_NICE it stops their threads instead)"
	}
	return text + " (--engine auto stops their threads instead)"
}

func (c *modeChooser) fallbackNote(engine string) string {
	parts := notes(&c.fellBack)
	if n := c.samples.counts.deepThreads; n == 1 {
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
	return "sampled by stops, not by the kernel: " + text
}

func notes(by *[target.NumSampleLacks]int64) (parts []string) {
	for lack := target.LacksNothing + 1; lack < target.NumSampleLacks; lack++ {
		if n := by[lack]; n > 0 {
			parts = append(parts, lack.Note(n))
		}
	}
	return parts
}
