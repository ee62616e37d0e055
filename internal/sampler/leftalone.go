package sampler

import "prywalk/internal/look"

// leftAlone books the time in which a thread was left alone before this look, because it was in a call that would have
// given up its work (package look, [look.Left]).
func (a *accountant) leftAlone(th *thread, left *look.Left) {
	if left.InCallAt == 0 && left.AloneAt == 0 {
		return
	}
	a.settleEarly(th, false)
	if left.InCallAt != 0 {
		th.clock.leftAlone(reading(left.InCall, left.InCallAt), true, a.emitter(th))
	}
	if left.AloneAt != 0 {
		th.clock.leftAlone(reading(left.Alone, left.AloneAt), false, a.emitter(th))
	}
}

// leftAlone books the time up to a moment at which the thread was left alone. inCall: it was in the call that its last
// look has seen; else nobody knows where it was. The clocks may lack some milliseconds, which the next look has.
func (c *threadClock) leftAlone(r Reading, inCall bool, emit func(slice)) {
	if !c.started || r.Wall <= c.last.Wall {
		return
	}
	from := c.last.Wall
	cpu, runq, blocked := c.advance(r)
	runq -= c.bookQueued(from, runq, emit)
	if c.isOpen {
		c.open.wall += blocked
		c.open.end, c.openRan = r.Wall, true
	} else {
		c.carryBlocked += blocked
	}
	if inCall && !c.isOpen {
		emit(slice{seen: c.lastRun, end: r.Wall, wall: cpu + runq, runq: runq, cpuRun: cpu})
		return
	}
	c.carryCPU += cpu
	c.carryRunq += runq
	c.bookCarried(r.Wall, emit)
}

// mostCalls bounds the numbers of system calls of which it is counted how often looks broke them.
const mostCalls = 512

// harm counts what looks did to calls that could not be hidden, by the number of the call; the last place is that of
// others.
type harm struct {
	broken, told [mostCalls + 1]int64
}

// broke counts what a look did.
func (c *controller) broke(s *look.Shot) {
	at := mostCalls
	if s.BrokenCall >= 0 && s.BrokenCall < mostCalls {
		at = int(s.BrokenCall)
	}
	if s.Broken {
		c.harm.broken[at]++
	}
	if s.Told {
		c.harm.told[at]++
	}
}

// byCall makes a map of the counts that are not zero, by the name of the call. What is missing up to all, as it was
// done by looks that were given up, is "other".
func byCall(counts *[mostCalls + 1]int64, all int64) map[string]int64 {
	m := map[string]int64{}
	for nr, n := range counts {
		if n == 0 {
			continue
		}
		name := "other"
		if nr < mostCalls {
			name = look.CallName(int64(nr))
		}
		m[name] += n
		all -= n
	}
	if all > 0 {
		m["other"] += all
	}
	return m
}
