package sampler

import "golang.org/x/sys/unix"

// A real-time thread wakes up on the processor that it slept on, whoever runs there, even
// if others are idle (kernel/sched/rt.c, select_task_rq_rt). If that is a target's
// thread, it stands still for the whole tick instead of for its own look. So the tracer
// moves to another processor when its wake-up has put a thread of a target off. Where
// threads run on all of them that does not help: it is tried less and less often.
const (
	// leastStay and mostStay bound how long the tracer stays on a processor where it
	// is in the way before it tries another, in nanoseconds.
	leastStay = 20e6
	mostStay  = 2e9
	// calmTicks is after how many ticks in nobody's way the next move is soon again.
	calmTicks = 32
)

// place chooses the tracer's processor. Its methods run on the tracer's OS thread.
type place struct {
	allowed unix.CPUSet
	known   bool // allowed is
	stay    int64
	next    int64 // when to move next at the earliest, CLOCK_MONOTONIC ns
	calm    int   // ticks since it was last in the way
	moves   int64
	move    func(*unix.CPUSet) error
}

func newPlace() *place {
	p := &place{stay: leastStay, move: func(set *unix.CPUSet) error { return unix.SchedSetaffinity(0, set) }}
	p.known = unix.SchedGetaffinity(0, &p.allowed) == nil && p.allowed.Count() > 1
	return p
}

// ticked takes note of a tick at which the tracer, on this processor, was in a thread's
// way, or was not, and moves it if need be.
func (p *place) ticked(now int64, inTheWay bool, cpu int) {
	if !inTheWay {
		if p.calm++; p.calm >= calmTicks {
			p.stay = leastStay
		}
		return
	}
	p.calm = 0
	if !p.known || now < p.next || cpu < 0 {
		return
	}
	others := p.allowed
	others.Clear(cpu)
	if p.move(&others) != nil {
		p.known = false // what is allowed has changed
		return
	}
	p.moves++
	p.next = now + p.stay
	p.stay = min(2*p.stay, mostStay)
}
