// SPDX-License-Identifier: Apache-2.0

package look

import (
	"prywalk/internal/procmem"
	"prywalk/internal/skid"
)

// Woken tells when the tracer's thread woke up for the looks that follow
// (CLOCK_MONOTONIC, ns).
func (l *Looker) Woken(at int64) {
	l.woken = skid.Wake{At: at, ByTimer: l.ctl.ByTimer()}
	l.tracer.Woken(at)
}

// Awake tells that the tracer has done other things since its last sleep. If it does not sleep before the next tick, it
// has preempted nobody at that tick.
func (l *Looker) Awake() { l.ctl.Awake() }

// Nap has the tracer sleep until a moment (CLOCK_MONOTONIC, ns).
func (l *Looker) Nap(until int64) { l.ctl.Nap(until) }

// wake gives the tracer's last wake-up, from its sleep between ticks or from a short one
// while it waited for threads to stop.
func (l *Looker) wake() skid.Wake {
	if at := l.ctl.Woken(); at > l.woken.At {
		return skid.Wake{At: at, ByTimer: l.ctl.ByTimer()}
	}
	return l.woken
}

// Close lets go of the file that the looker keeps open, its thread's own, and of its spare shot.
func (l *Looker) Close() {
	l.tracer.Close()
	l.lent.close()
	if l.relays != nil {
		l.relays.Close()
	}
	l.pool.Put(l.spare)
	l.spare = nil
}

// InTheWay reports whether the tracer's thread has preempted a thread that was looked at since [Looker.Woken], and on
// which processor.
func (l *Looker) InTheWay() (cpu int, ok bool) {
	if !l.tracer.InTheWay() {
		return -1, false
	}
	return l.tracer.Processor(l.wake().At), true
}

// judgeAll finds out whom of those whose looks are under way the tracer has preempted.
func (l *Looker) judgeAll() {
	for _, t := range l.pending {
		if t != nil && !t.skid.Judged() && l.tracer.Judge(&t.skid, t.files, t.lastRun(), l.wake()) {
			t.freezing.Queued()
		}
	}
}

// mostCandidates is among how many threads the one that was preempted is sought. Asking all of many would take longer
// than that one waits, and each of them is rarely it.
const mostCandidates = 16

// candidate is a thread that the tracer's wake-up may have preempted.
type candidate struct {
	t    *Thread
	runs uint64
	used int64 // processor time since it was last looked at, ns
}

// Consider takes note of a thread that the tracer's wake-up may have preempted: it makes many system calls, and has
// run. False: there are too many such threads, and none is to be sought.
func (l *Looker) Consider(t *Thread) bool {
	if !t.skid.Many() || t.Pending() || t.Sampled() {
		return true
	}
	s, err := t.files.SchedStat()
	if err != nil || s.Runs == t.before.Runs {
		return true
	}
	if len(l.candidates) == mostCandidates {
		l.candidates = l.candidates[:0]
		return false
	}
	l.candidates = append(l.candidates, candidate{t, s.Runs, int64(s.CPU - t.before.CPU)})
	return true
}

// SeeksPreempted reports whether the thread that the tracer's wake-up preempted is to be sought: the tracer's own timer
// did it. Else the look at it tells no more than any other.
func (l *Looker) SeeksPreempted() bool { return l.wake().ByTimer }

// FindPreempted finds out which of the threads that were considered the tracer's wake-up has preempted, nil if none.
// The look at it is to begin at once. Asking takes 5 µs each. Who has used most since the last tick is asked first, as
// he is the likeliest.
func (l *Looker) FindPreempted() *Thread {
	defer func() { l.candidates = l.candidates[:0] }()
	for list := l.candidates; len(list) > 0; list = list[:len(list)-1] {
		most, last := 0, len(list)-1
		for i := range list {
			if list[i].used > list[most].used {
				most = i
			}
		}
		c := list[most]
		if l.tracer.Find(&c.t.skid, c.t.files, c.runs, l.wake().At) {
			return c.t
		}
		list[most] = list[last]
	}
	return nil
}

// lastRun gives what the thread has done since it was let go after its last stop, if it was put on a processor once.
func (t *Thread) lastRun() (run skid.Run) {
	if b := &t.base; b.valid && t.before.Runs == b.runs+1 {
		run.LetGo, run.CPU = b.letGo, int64(t.before.CPU-b.cpu)
	}
	return run
}

// ManyCalls reports whether the thread makes so many system calls that it is looked at
// exactly only from its own processor.
func (t *Thread) ManyCalls() bool { return t.skid.Many() }

// Stat reads the thread's stat.
func (t *Thread) Stat(st *procmem.Stat) error { return t.files.Stat(st) }

// Processor tells on which processor a thread ran when it was last looked at; −1 if the
// kernel does not say.
func (l *Looker) Processor(t *Thread) int {
	if cpu, ok := t.skid.Preempted(); ok {
		return cpu
	}
	var st procmem.Stat
	if t.files.Stat(&st) != nil {
		return -1
	}
	return st.Processor
}

// OnProcessor reports whether the first thread of a process that nobody looks at is on a processor, or was preempted by
// the tracer's wake-up. It is on one if it has arrived once more often than it has left (kernel/sched/stats.h,
// sched_info_arrive; kernel/sched/core.c, __schedule). Its clock does not tell: the kernel brings that of another
// process up to date at its own ticks only.
func (l *Looker) OnProcessor(files *procmem.ThreadFiles) bool {
	var s procmem.Status
	before, err := files.SchedStat()
	if err != nil || files.Status(&s) != nil || s.State != 'R' {
		return false
	}
	after, err := files.SchedStat()
	if err != nil || after.Runs != before.Runs {
		return false // it has only just come
	}
	if before.Runs > s.Switches {
		return true
	}
	var st procmem.Stat
	return files.Stat(&st) == nil && st.Processor == l.tracer.Processor(l.wake().At) &&
		l.tracer.Preempted(files, l.wake().At)
}
