package sampler

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/idle"
	"prywalk/internal/look"
	"prywalk/internal/ownruntime"
	"prywalk/internal/procmem"
	"prywalk/internal/schedule"
	"prywalk/internal/skid"
)

// tracer decides at each tick whom to look at, and looks. It runs on an OS thread of
// its own, and belongs to it.
type tracer struct {
	opts   *Options
	looker *look.Looker
	pool   *look.Pool
	files  *procmem.Budget                       // of those that are kept open
	done   func(*look.Thread, *look.Shot, error) // collected, made once
	procs  []*process
	out    outbox

	// When and whom.
	ticks      *schedule.Ticks
	budget     schedule.Budget
	subset     schedule.Subset
	quota      *underQuota // nil: there is none, or the tracer's priority is above it
	gaps       schedule.GapDetector
	idle       *idle.Policy
	cpuChooser *skid.CPUChooser
	garbage    *ownruntime.Collector
	samples    kernelSamples

	now         tickState
	counts      counts
	callEffects callEffects
	ended       endedCount
	births      births
	lastTick    int64 // the moment of the last one at which threads were looked at, CLOCK_MONOTONIC ns
	checkpoint  int64 // when the last one was asked for, CLOCK_MONOTONIC ns
	told        int64 // when the watcher was told last, CLOCK_MONOTONIC ns
	ranGone     int64 // processor time of the processes that have ended, ns

	start    int64  // when sampling began, CLOCK_MONOTONIC ns
	boot     uint64 // the same in clock ticks after boot
	lastRead int64  // when the targets' clocks were read last, CLOCK_MONOTONIC ns; 0: they were not yet
	began    bool   // the first tick has been
	ending   bool   // this is the last tick
}

// admit takes a process on. One that has ended already goes on to the accountant, which lets go of it.
func (c *tracer) admit(p *process) {
	tasks, err := procmem.OpenTasks(p.target.PID, c.files)
	if err != nil {
		p.gone = true
		c.out.add(event{kind: processEnded, proc: p.account, at: procmem.Now(), used: &p.end})
		return
	}
	p.list.tasks, p.list.byTID = tasks, map[int]*thread{}
	p.clock.now, _ = procmem.ProcessCPU(p.target.PID)
	if p.child && p.target.StartTime >= c.boot {
		p.list.begun, p.counted, p.account.fromStart = true, true, true // all its time lies within the recording
		p.account.book.Since = max(startOf(p.target.StartTime), c.start)
	} else {
		p.clock.first, p.account.book.Since = p.clock.now, procmem.Now()
	}
	p.idle = idle.NewProcess(p.clock.now, p.findIdle)
	c.procs = append(c.procs, p)
	c.out.add(event{kind: processBegan, proc: p.account})
	c.chooseFor(p)
	c.meetProcess(p)
}

// ticksPerSecond is the unit of start times in /proc (USER_HZ).
const ticksPerSecond = 100

// BootTicks gives the present moment as /proc gives start times: in clock ticks (1/100 s) after boot.
func BootTicks() uint64 { return uint64(bootTime()) / (1e9 / ticksPerSecond) }

// bootTime gives the time since boot, suspended time included, in nanoseconds.
func bootTime() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // it exists since Linux 2.6.39
	return ts.Nano()
}

// startOf gives a start time in CLOCK_MONOTONIC nanoseconds, to a tick.
func startOf(ticks uint64) int64 {
	return int64(ticks)*(1e9/ticksPerSecond) + procmem.Now() - bootTime()
}
