// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"math"
	"strings"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/base/tabular"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// scope selects the threads that the kernel samples: all ([systemWide]), or single ones ([perThread]).
type scope interface {
	// begin is called for each thread of a process that is sampled from now on, and for its new ones.
	begin(*thread)
	end(*thread)
	// beforeObservation decides whether a sampled thread is stopped all the same.
	beforeObservation(th *thread, now ptrace.Moment)
	// sampled is called for each sample of the thread, usable or not, that was taken after period. It returns the
	// time that the sample stands for; 0 means that it is left out.
	sampled(th *thread, period time.Duration) (standsFor time.Duration)
	clocksRead(th *thread, before, now sample.Reading)
	// report completes each raw sample of the thread before it is reported.
	complete(*thread, *observe.RawSample)
	// fromStart reports whether threads, also of descendants, are sampled from their first instruction on.
	fromStart() bool
	// samplesAny reports whether a thread was sampled, or would be if it ran.
	samplesAny() bool
	// note says what the samples leave out, and which threads are stopped; "" means nothing.
	note() string
}

type systemWide struct {
	stream     *stream
	unassigned *unassignedSamples
}

func (s systemWide) begin(th *thread) {
	th.tracked.ExemptFromStops(s.stream.reader.Stack())
	s.unassigned.assign(th)
}

func (systemWide) end(*thread)                                           {}
func (systemWide) beforeObservation(*thread, ptrace.Moment)              {}
func (systemWide) sampled(_ *thread, period time.Duration) time.Duration { return period }
func (systemWide) clocksRead(*thread, sample.Reading, sample.Reading)    {}
func (systemWide) complete(*thread, *observe.RawSample)                  {}
func (systemWide) fromStart() bool                                       { return true }
func (systemWide) samplesAny() bool                                      { return true }
func (systemWide) note() string                                          { return "" }

// perThread samples threads in user space only: one by one, from when their clocks first show that they run, where a
// thread that begins within the recording is stopped once before; or a command and its descendants, whose threads all
// have events ([perfevents.Reader.SampleCommand]).
//
// # Time in the kernel
//
// The kernel takes no sample while the thread is in the kernel, so the time there is known without being seen:
//
//	time in the kernel = growth of the CPU time − Σ periods of the samples
//
// as far as it exceeds the error of the right side ([threadEvents.begin]). It is reported with the thread's next sample
// of any kind. Where it was spent, a few stops show: one each probeEvery at most, and only after probeAfter periods of
// time in the kernel. A stop in a system call takes that time; package attribute says where the rest goes. If the
// kernel's own account (stime in /proc/PID/task/TID/stat) has less than a quarter of that time, samples are missing for
// another reason, and the thread is stopped for each sample.
type perThread struct {
	shared     *target.SharedState
	reader     *perfevents.Reader
	unassigned *unassignedSamples
	refused    int64 // threads that the kernel refuses to sample
	noFiles    int64 // threads for whose events too few descriptors are left
	opened     int64 // threads that were sampled
}

const (
	probeEvery = 200 * time.Millisecond // of wall time between the stops of a thread
	probeAfter = 2                      // periods of time in the kernel before a stop
	tryEvery   = 50 * time.Millisecond  // between ticks that try such a stop: a thread that waits for a CPU is not stopped
	firstFor   = 8                      // periods of CPU time until a thread's samples have a whole period each
	checkAfter = 20                     // periods in the kernel until they are compared with stime; then at each doubling
)

// threadEvents are the events of one thread, and the time in the kernel since its count began.
type threadEvents struct {
	open    bool // it is sampled
	files   int  // descriptors of its own
	left    bool // to stops: it is not sampled any more
	whole   bool // its samples have a whole period each
	seen    bool // an observation of it was begun
	lost    int64
	cpuFrom time.Duration // CPU time when the count began, and the error that is permitted
	inUser  time.Duration // Σ periods of the samples since
	first   int64         // samples that stood for a part of the period, of a command's thread
	known   time.Duration // time in the kernel that was found since
	found   time.Duration // the part of it that was not reported yet

	probedAt, triedAt  ptrace.Moment // last stop for the time in the kernel, and try
	foundBeforeProbe   time.Duration // time in the kernel until then
	cpuAtProbe         time.Duration
	probes, probesCall int64         // stops for the time in the kernel; those in a system call
	allFound, countCPU time.Duration // time in the kernel, CPU time, over all counts
	stimeFrom          uint64        // when the events were opened, clock ticks
	checkedAt          time.Duration // time in the kernel at the last comparison with stime
}

// begin begins a count at a CPU time. The permitted error: on each CPU the last period is not over, half of one in the
// mean, and a sample may be taken between the reading of the clock and that of the buffers.
func (t *threadEvents) begin(tid int, cpu time.Duration, r *perfevents.Reader) {
	t.cpuFrom = cpu + r.ThreadPeriod(tid)*time.Duration(r.CPUs()+2)/2
	t.inUser, t.known = 0, 0
	t.lost = r.Lost() + r.Throttled()
}

// begin lets the kernel sample a thread that was there before, or has inherited events. Another is stopped once.
func (p *perThread) begin(th *thread) {
	if (!th.tracked.FromZero || p.fromStart()) && !th.tracked.Observed.NoUserSpace {
		th.tracked.ExemptFromStops(p.reader.Stack())
	}
	p.unassigned.assign(th)
}

func (p *perThread) beforeObservation(th *thread, now ptrace.Moment) {
	events := &th.events
	if events.seen && th.tracked.FromZero {
		p.foundRunning(th) // its first stop was refused
	}
	events.seen = true
	due := events.open && th.tracked.Observed.IsKernelSampled() && now.Sub(events.probedAt) >= probeEvery &&
		events.allFound-events.foundBeforeProbe >= probeAfter*p.reader.Period()
	if due && now.Sub(events.triedAt) >= tryEvery {
		events.triedAt = now
	}
	th.tracked.Observed.StopThough(due && events.triedAt == now)
}

// foundRunning opens the events of a thread that has run since the last observation.
func (p *perThread) foundRunning(th *thread) {
	events := &th.events
	if th.proc.mode != modeSamples || p.shared.Ending || events.open || events.left || th.tracked.Observed.NoUserSpace {
		return
	}
	n := p.reader.ThreadFiles()
	if !p.shared.Files.Take(n) {
		p.leaveToStops(th, &p.noFiles)
		return
	}
	if err := p.reader.OpenThread(th.tracked.Observed.ID.TID); err != nil {
		p.shared.Files.Give(n)
		p.leaveToStops(th, &p.refused)
		return
	}
	p.opened++
	var st procmem.Stat
	_ = th.tracked.Observed.Files().Stat(&st) // on error all stime counts
	cpu := time.Duration(th.lastReading.CPU)
	*events = threadEvents{open: true, files: n, seen: true, cpuAtProbe: cpu, stimeFrom: st.STime}
	events.begin(th.tracked.Observed.ID.TID, cpu, p.reader)
	th.tracked.ExemptFromStops(p.reader.Stack())
}

func (p *perThread) leaveToStops(th *thread, count *int64) {
	p.end(th)
	th.tracked.ExemptFromStops(0)
	th.events.left = true
	*count++
}

func (p *perThread) end(th *thread) {
	events := &th.events
	if !events.open {
		return
	}
	p.reader.CloseThread(th.tracked.Observed.ID.TID)
	p.shared.Files.Give(events.files)
	*events = threadEvents{}
	th.tracked.ExemptFromStops(0)
}

// sampled leaves out samples of a command's thread once it has run for some periods: inherited events keep the first
// period.
func (p *perThread) sampled(th *thread, period time.Duration) (standsFor time.Duration) {
	events := &th.events
	events.inUser += period
	if !p.fromStart() || !events.whole {
		return period
	}
	parts := max(int64((p.reader.Period()+period/2)/period), 1)
	if events.first++; events.first%parts != 0 {
		return 0
	}
	return time.Duration(parts) * period
}

// clocksRead finds the time in the kernel until a reading of the clocks. Precondition: the buffers were read before.
func (p *perThread) clocksRead(th *thread, before, now sample.Reading) {
	events := &th.events
	switch {
	case !events.open:
		if now.CPU > before.CPU {
			p.foundRunning(th)
		}
		return
	case events.lost != p.reader.Lost()+p.reader.Throttled() || !th.tracked.Observed.IsKernelSampled():
		events.begin(th.tracked.Observed.ID.TID, time.Duration(now.CPU), p.reader) // samples may be missing
		return
	}
	events.countCPU += time.Duration(now.CPU - before.CPU)
	if more := time.Duration(now.CPU) - events.cpuFrom - events.inUser - events.known; more > 0 {
		events.known += more
		events.found += more
		events.allFound += more
	}
	if events.allFound >= max(checkAfter*p.reader.Period(), 2*events.checkedAt) && p.lacksSamples(th) {
		p.leaveToStops(th, &p.refused)
		return
	}
	if first := firstFor * p.reader.Period(); events.countCPU >= first && !events.whole {
		events.whole = p.fromStart() || p.reader.SetWholePeriod(th.tracked.Observed.ID.TID)
		events.begin(th.tracked.Observed.ID.TID, time.Duration(now.CPU), p.reader)
	}
}

func (p *perThread) lacksSamples(th *thread) bool {
	events := &th.events
	events.checkedAt = events.allFound
	var st procmem.Stat
	if th.tracked.Observed.Files().Stat(&st) != nil {
		return false
	}
	return time.Duration(4*int64(st.STime-events.stimeFrom+1)*procmem.ClockTick) < events.allFound
}

// complete passes on the time in the kernel with a raw sample, and what of it a stop in a system call takes: all,
// unless such stops are less than half as many as the time in the kernel lets expect. The rest of that time is of page
// faults and interrupts, which no stop shows; then the stop stands for the time since the one before.
func (p *perThread) complete(th *thread, raw *observe.RawSample) {
	events := &th.events
	raw.KernelTime, events.found = int64(events.found), 0
	switch {
	case raw.How != observe.ByStop || raw.State != sample.Running:
		return
	case !events.open:
		p.foundRunning(th)
		return
	}
	events.probedAt, events.foundBeforeProbe = raw.At, events.allFound
	if !raw.Stayed {
		return // it waited for a CPU
	}
	events.probes++
	if raw.AtCallEnd {
		events.probesCall++
		raw.CallTime = math.MaxInt64
		if 2*events.probesCall*int64(events.countCPU) < events.probes*int64(events.allFound) {
			raw.CallTime = int64(raw.Sched.CPU) - int64(events.cpuAtProbe)
		}
	}
	events.cpuAtProbe = time.Duration(raw.Sched.CPU)
}

func (p *perThread) fromStart() bool { return !p.reader.PerThread() }

func (p *perThread) samplesAny() bool { return p.opened > 0 || p.noFiles+p.refused == 0 }

func (p *perThread) note() string {
	var parts []string
	if p.samplesAny() {
		parts = append(parts, "user space only: time in the kernel goes to the system calls that sleeps and a few stops "+
			"show, else to [kernel] (root or CAP_PERFMON shows the kernel's functions)")
	}
	if p.noFiles > 0 {
		parts = append(parts, "stopped, as too few file descriptors are left for samples (ulimit -n): "+
			tabular.Plural(p.noFiles, "thread"))
	}
	if p.refused > 0 {
		parts = append(parts, "stopped, as the kernel gives no or too few samples: "+tabular.Plural(p.refused, "thread"))
	}
	return strings.Join(parts, "; ")
}
