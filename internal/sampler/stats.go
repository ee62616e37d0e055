package sampler

import (
	"sync"
	"sync/atomic"
	"time"

	"prywalk/frames"
	"prywalk/internal/booking"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/ptrace"
)

// counts are what the tracer counts. It alone writes them; the progress line
// reads a copy that is published at each tick.
type counts struct {
	ticks, attempted, frozen, peeked, reused, restarted int64
	sampled, claimed                                    int64
	queued, threadsMax                                  int64
	inferred, unseen                                    int64
	backlog                                             int64 // the most bytes of copies that waited to be unwound
	failed                                              [look.NumReasons]int64
	freezes                                             histogram
	longest                                             Freeze
	copies                                              histogram // bytes of stack that a freeze copied
	long                                                [ptrace.NumCauses]LongFreezes
	late                                                LongFreezes // see Stats.Late
}

// froze counts a look by a freeze.
func (c *counts) froze(s *look.Shot) {
	c.frozen++
	c.freezes.add(s.Stopped)
	c.copies.add(s.Copied())
	if s.Restarted {
		c.restarted++
	}
	if s.Stopped > look.LongFreeze {
		c.long[s.Why].add(s.Stopped)
	}
	if s.Late > look.LongFreeze {
		c.late.add(s.Late)
	}
}

func (c *counts) fail(r look.FailReason) { c.failed[r]++ }

// totals are what the accountant adds up.
type totals struct {
	stacks       int64
	stops        [frames.NumStopReasons]int64
	whole        [look.FromCore + 1]int64 // stacks that are complete, by how the thread was looked at
	samples      int64
	complete     int64 // samples whose stack is complete
	profiled     int64 // CPU booked, ns
	target       int64 // CPU that the kernel charged, ns
	unobserved   int64 // CPU booked under [ran between ticks] and [not observed], ns
	exitedUnseen int64 // CPU booked under [exited unseen], ns
	shortLived   int64 // CPU booked under [short-lived children], ns
	estimated    int64 // CPU of threads that have ended, booked under the stacks of looks at others like them, ns
}

// book adds a span.
func (t *totals) book(s *booking.Span) {
	t.samples += s.Samples
	if s.Whole {
		t.complete += s.Samples
	}
	t.profiled += s.CPU
	switch s.Leaf {
	case booking.RanBetweenTicks, booking.NotObserved:
		t.unobserved += s.CPU
	case booking.ExitedUnseen:
		t.exitedUnseen += s.CPU
	case booking.ShortLivedChildren:
		t.shortLived += s.CPU
	}
}

// stack counts a stack by how its walk ended and how the thread was looked at.
func (t *totals) stack(stop frames.StopReason, how look.How) {
	t.stacks++
	t.stops[stop]++
	if stop.Complete() {
		t.whole[how]++
	}
}

// LongFreezes counts freezes that were long for one cause.
type LongFreezes struct {
	N   int64
	Max int64 // the longest, ns
}

func (l *LongFreezes) add(ns int64) {
	l.N++
	l.Max = max(l.Max, ns)
}

// Stats is what a run did.
type Stats struct {
	Ticks, MissedTicks                        int64
	Attempted, Frozen, Peeked, Reused, Queued int64
	// Engine is how running threads were observed: "ptrace", "perf", or "perf, then ptrace". EngineNote says why, and
	// which processes were ptrace's though perf was there. NoEvents is [Options.NoEvents].
	Engine, EngineNote, NoEvents string
	// Sampled are the kernel's samples of running threads; they are not Attempted. LostSamples found no room in the
	// kernel's buffers or here; they may have been other programs'. Claimed are those of threads that ended before their
	// clocks were read again: they are no samples of the profile, but have a claim on unseen time. ThrottledSamples is
	// how often the kernel sampled less than asked for. SampleStack is how many bytes of stack came with each.
	Sampled, Claimed, LostSamples, ThrottledSamples int64
	SampleStack                                     int
	// Queued are the ticks at which a thread fell due whose last look was still pending: it had not been scheduled,
	// or could not stop. They are not Attempted. Inferred are the ticks at which a thread that was backed off was not
	// looked at, and its next look proved that it had not run. Unseen are those where it had.
	Inferred, Unseen int64
	Failed           map[string]int64
	Incomplete       map[string]int64
	// Restarted are the system calls that a freeze broke and that began again unseen. Broken are those that gave
	// EINTR or EAGAIN to the program, because a restart would not be sound or is not allowed. Told are those of which
	// a supervisor was told twice (seccomp user notification).
	Restarted, Broken, Told int64
	// BrokenCalls and ToldCalls are these by the name of the call.
	BrokenCalls, ToldCalls map[string]int64
	FramesByMethod         map[string]int64
	// FreezeP50, P99 and Max are the lengths of freezes in nanoseconds, from
	// interrupt to detach less the time queued or at work in the kernel before the stop.
	FreezeP50, FreezeP99, FreezeMax int64
	ThreadsMax                      int64
	// LongestFreeze is the freeze that took FreezeMax.
	LongestFreeze Freeze
	// Begun is the moment of the first tick, Seconds the time from it to the last
	// reading of the targets' clocks; Freq the ticks a second done.
	Begun         time.Time
	Seconds, Freq float64
	// CopiedP50, P99 and Max are the bytes of stack that a freeze copied.
	CopiedP50, CopiedP99, CopiedMax int64
	// Freezes are all of them by their length, in classes by powers of two.
	Freezes []Bucket
	// Long are those over look.LongFreeze (262 µs) by their causes, as [ptrace.Cause] names them.
	Long map[string]LongFreezes
	// Late are the interrupts after which a thread went on for longer than that, though it was on a processor. That is
	// no part of the freeze.
	Late LongFreezes
	// Lost is what the targets lost by being stopped, in seconds: the lengths of all
	// freezes and what a stop costs besides (10 µs each).
	Lost float64
	// Withheld are the ticks that came while targets had lost more than
	// Options.MaxOverhead allows: nobody was looked at.
	Withheld int64
	// Subset is Options.Subset; NotDrawn are the looks that were due and left out at random, for it or for MaxOverhead.
	Subset   int
	NotDrawn int64
	// Rates are the looks that threads got which were there for a second or more, at
	// most the first 10,000 of them.
	Rates []ThreadRate
	// SlowestThread is the lowest rate of looks a second that a thread which
	// was there for a second or more got; its tid beside it.
	SlowestThread float64
	SlowestTID    int
	// NotObserved is for how long nobody was looked at though ticks were due, in seconds, in so many Gaps, the
	// longest of them LongestGap. Suspended is for how long the machine was suspended; no clock of the recording
	// runs then.
	NotObserved, LongestGap, Suspended float64
	Gaps                               int64
	// Backlog is the most bytes of copied stacks that waited at once to be walked.
	Backlog int64
	// Stacks were walked; Incomplete has those that did not reach the thread's
	// first function.
	Stacks int64
	// FrozenWhole and PeekedWhole are the stacks of freezes and of peeks that did.
	FrozenWhole, PeekedWhole int64
	// Samples is the sum of the profile's samples: ticks at which a stack was
	// seen, Complete of them with a complete one.
	Samples, Complete int64
	// Seconds of processor time: prywalk's own, the targets' by the kernel, the
	// profile's, and the parts of it that no look observed.
	SelfCPU, TargetCPU, ProfiledCPU, UnobservedCPU, ExitedUnseenCPU float64
	// EstimatedCPU is the part of the profile's that is of threads that have ended and belongs to no look. It was
	// shared out among the stacks in which newborn threads were met.
	EstimatedCPU float64
	// ShortLivedCPU is the part of the targets' and the profile's that is of children which ended before they were met.
	ShortLivedCPU float64
	// Scheduling is "fifo", "nice" or "normal".
	Scheduling string
	// Quota is the tightest CPU quota that prywalk ran under, as a share of one processor; 0 if there was none, or it had
	// a real-time priority. QuotaWithheld are the ticks at which nobody was looked at because too little was left of it.
	// Throttled is for how long its group stood still, in seconds, summed over the processors; FreezesThrottled counts the
	// freezes of more than a millisecond in which it did.
	Quota, Throttled float64
	QuotaWithheld    int64
	FreezesThrottled int64
	// What was asked for: Options.Freq, MaxOverhead and MaxPause.
	FreqAsked, MaxOverhead float64
	MaxPause               time.Duration
}

// Freeze tells of one freeze whose it was, and how many bytes of stack it copied.
type Freeze struct {
	PID, TID int
	Copied   int64
}

// ThreadRate is how often a thread was looked at.
type ThreadRate struct {
	PID, TID int
	Name     string
	Looks    int64   // ticks at which its stack was seen
	Seconds  float64 // from its first look to its last
}

// Rate gives the looks a second.
func (r *ThreadRate) Rate() float64 { return float64(r.Looks-1) / r.Seconds }

// maxRates bounds the number of threads whose rates are kept.
const maxRates = 10_000

// rates are how often threads were looked at.
type rates struct {
	list       []ThreadRate
	slowest    float64 // lowest rate of looks a second that a thread got
	slowestTID int
}

// add notes a thread's rate, if it was there for a second.
func (r *rates) add(t ThreadRate) {
	if t.Seconds < 1 || t.Looks == 0 {
		return
	}
	if rate := t.Rate(); r.slowest == 0 || rate < r.slowest {
		r.slowest, r.slowestTID = rate, t.TID
	}
	if len(r.list) < maxRates {
		r.list = append(r.list, t)
	}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// published is a copy of the counts for other goroutines.
type published struct {
	mu       sync.Mutex
	counts   counts
	missed   int64
	withheld int64
	live     int
	stacks   atomic.Int64
	saving   atomic.Bool  // a checkpoint is asked for and not yet written
	saveTook atomic.Int64 // how long the last one took, ns

	telling  atomic.Bool  // the watcher is about to be told
	tellTook atomic.Int64 // how long that took, ns
	whole    atomic.Int64
}

func (p *published) set(c *tracer) {
	if !p.mu.TryLock() {
		return // the reader is at it; the next tick publishes again
	}
	p.counts = c.counts
	p.missed, p.withheld = c.ticks.Missed, c.budget.Withheld
	p.live = c.now.threads
	p.mu.Unlock()
}

// Progress is how far a run has come.
type Progress struct {
	Ticks, Missed, Looks, Failed int64
	Frozen                       int64 // of the looks
	Denied, Traced               int64 // of those that failed: the kernel refused them, another tracer held the thread
	Withheld                     int64 // ticks, by the budget
	Threads                      int
	Stacks, Complete             int64
}

func (p *published) progress() Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := Progress{
		Ticks: p.counts.ticks, Missed: p.missed, Threads: p.live,
		Looks:  p.counts.frozen + p.counts.peeked + p.counts.reused,
		Frozen: p.counts.frozen, Withheld: p.withheld,
		Stacks: p.stacks.Load(), Complete: p.whole.Load(),
	}
	g.Denied, g.Traced = p.counts.failed[look.ReasonDenied], p.counts.failed[look.ReasonTraced]
	for _, n := range p.counts.failed {
		g.Failed += n
	}
	return g
}

// # Who watches
//
// A watcher gets each interval when it is final. A sleeper's may take days, so that it is also told what goes on. For
// that nobody is looked at: the tracer tells which threads it has found unchanged, as for a checkpoint. What is open is
// told and stays open, so that a recording beside it has the intervals that it has without.

// tellPart bounds what telling the watcher takes of the accountant's time.
const tellPart = 200

// refreshDue reports whether the watcher is to be told what goes on.
func (c *tracer) refreshDue(now int64, p *published) bool {
	every := int64(c.opts.WatchEvery)
	if c.opts.Watch == nil || every <= 0 || p.telling.Load() {
		return false
	}
	if c.told == 0 {
		c.told = now
	}
	return now-c.told >= max(every, tellPart*p.tellTook.Load())
}

// askRefresh asks for the watcher to be told, with everything up to now.
func (c *tracer) askRefresh(now int64) {
	c.tellUnchanged()
	c.out.add(event{kind: refreshAsked, at: now})
	c.out.handOver(c.now.at) // or after a later tick, if the accountant is far behind
	c.told = now
}

// refresh tells the watcher what goes on.
func (a *accountant) refresh(at int64) {
	began := procmem.Now()
	if a.watch != nil {
		a.watch.Refresh(a.unix.Of(at), a.goesOn)
	}
	a.pub.tellTook.Store(procmem.Now() - began)
	a.pub.telling.Store(false)
}

// goesOn gives the spans that are open, as intervals. The accounts stay as they are.
func (a *accountant) goesOn(yield func(profile.Interval) bool) {
	for th := range a.threads {
		more := true
		th.book.Open(func(s booking.Span) { more = yield(a.interval(th.proc, th, &s)) })
		if !more {
			return
		}
	}
}
