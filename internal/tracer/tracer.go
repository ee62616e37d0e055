// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"runtime"

	"prywalk/internal/descendants"
	"prywalk/internal/handover"
	"prywalk/internal/idle"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/internal/schedule"
	"prywalk/internal/skid"
	"prywalk/ptrace"
)

// Tracer decides at each tick whom to look at, and looks. It runs on an OS thread of
// its own, and belongs to it.
type Tracer struct {
	opts    Options
	control *Control
	*handover.Common
	looker *look.Looker
	files  *procmem.Budget                       // of those that are kept open
	done   func(*look.Thread, *look.Shot, error) // collected, made once
	walks  walks
	procs  []*process
	out    outbox
	stop   func() // ends the run

	timing
	runSpan
	idle       *idle.Policy
	cpuChooser *skid.CPUChooser
	samples    kernelSamples
	ended      endedCount
	births     births
	own        ownWork
	newborns   *newborns // nil: children are not followed
	kin        kin
	// precedesExec: newborn processes are looked at also before they call exec.
	precedesExec bool

	now  tickState
	asks asks
	tally
}

// timing says when to look.
type timing struct {
	ticks  *schedule.Ticks
	budget schedule.Budget
	subset schedule.Subset
	quota  *underQuota // nil: there is none, or the tracer's priority is above it
	gaps   schedule.GapDetector
	rest   schedule.Rest
}

// runSpan is what is known of the run as a whole.
type runSpan struct {
	start    int64  // when sampling began, CLOCK_MONOTONIC ns
	boot     uint64 // the same in clock ticks after boot
	began    bool   // the first tick has been
	lastTick int64  // the moment of the last one at which threads were looked at, CLOCK_MONOTONIC ns
	ending   bool   // this is the last tick
	lastRead int64  // when the targets' clocks were read last, CLOCK_MONOTONIC ns; 0: they were not yet
	ran      int64  // from the first tick to the last reading, ns
	ranGone  int64  // processor time of the processes that have ended, ns
	// lastProcess and lastTask are the numbers that were given last.
	lastProcess sample.ProcessID
	lastTask    sample.TaskID
}

// tally is what the statistics are made of.
type tally struct {
	counts       counts
	callEffects  callEffects
	broken, told int64  // all calls that looks broke, and told of twice
	lowered      int64  // how often the tracer lost its real-time priority
	scheduling   string // of the tracer's OS thread
}

// New makes a tracer, which opens files. Its time begins at start, CLOCK_MONOTONIC ns, which is boot in clock ticks
// after boot. Children that were started since count from their start.
func New(o Options, k *Control, with *handover.Common, start int64, boot uint64) *Tracer {
	c := &Tracer{
		opts: o, control: k, Common: with, files: procmem.NewBudget(FileReserve),
		out: outbox{ring: with.Ring, events: with.Ring.Get()},
		timing: timing{
			ticks: schedule.NewTicks(start, o.Freq), budget: schedule.NewBudget(o.Freq, o.MaxOverhead, runtime.NumCPU()),
			subset: schedule.NewSubset(o.Subset, uint64(start)),
		},
		runSpan:    runSpan{start: start, boot: boot},
		idle:       idle.New(uint64(start)),
		cpuChooser: &skid.CPUChooser{},
	}
	c.budget.UseParts()
	c.births.file, _ = procmem.OpenBirths() // else each tick may have had some
	if o.Children && o.Threads == nil {
		c.newborns, c.precedesExec = descendants.NewNewborns[*handover.Process, *young](c.files), mayPrecedeExec()
		c.newborns.Between(func() {
			if !c.walks.away() { // else the tracer serves stops itself
				c.serveStopped()
			}
		})
		c.newborns.Pinned(ptrace.Pin, ptrace.Unpin)
	}
	c.done = c.collected
	c.Garbage.Await = c.await
	c.observe(o.Events)
	c.hear(o.Kin)
	return c
}

// FileReserve is the number of descriptors left for everything but kept-open /proc files.
const FileReserve = 512

// admit takes a process on. One that has ended already goes on to the accountant, which lets go of it.
func (c *Tracer) admit(shared *handover.Process) {
	c.lastProcess++
	shared.ID = c.lastProcess
	p := &process{target: shared.Target, shared: shared}
	p.clock.now, _ = procmem.ProcessCPU(p.target.PID)
	tasks := openTasks(shared)
	if tasks == nil {
		p.gone = true
		c.out.add(handover.Event{Kind: handover.ProcessEnded, Proc: shared, At: procmem.Now(), Used: &p.end})
		return
	}
	p.extra, _ = shared.TakeExtra()
	tasks.KeepWithin(c.files)
	p.list.tasks, p.list.byTID = tasks, map[int]*thread{}
	if shared.Child && p.target.StartTime >= c.boot {
		p.list.begun, p.counted, shared.FromStart = true, true, true // all its time lies within the recording
		shared.Since = max(startOf(p.target.StartTime), c.start)
	} else {
		p.clock.first, shared.Since = p.clock.now, procmem.Now()
	}
	p.idle = idle.NewProcess(p.clock.now)
	c.procs = append(c.procs, p)
	c.out.add(handover.Event{Kind: handover.ProcessBegan, Proc: shared})
	c.chooseFor(p)
	c.meetProcess(p)
	c.followKin(p)
}

// openTasks gives the list of a process's threads, nil if the process has ended.
func openTasks(p *handover.Process) *procmem.TaskDir {
	d := p.TakeTasks()
	if d == nil {
		return nil
	}
	if n, err := d.Count(); err != nil || n == 0 {
		d.Close()
		return nil
	}
	return d
}

// admitAll takes on the processes that have arrived.
func (c *Tracer) admitAll() {
	for {
		select {
		case p := <-c.control.arrive:
			c.admit(p)
			c.serveStopped()
		default:
			return
		}
	}
}
