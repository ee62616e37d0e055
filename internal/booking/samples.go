// SPDX-License-Identifier: Apache-2.0

package booking

// # The kernel's samples
//
// A look that stops a thread reads its clocks at that moment. A sample of the kernel has none: the clocks are read at
// the tick before it and at the one after. What they showed in between follows from that, exactly for a thread that ran
// all the time. For others it is a straight line, within what can be. What is estimated is only which of a thread's
// samples time goes to; its sum is the kernel's.

// Between gives what the clocks showed at a moment between two readings. A moment outside is taken for the nearest.
func (from Reading) Between(to Reading, at int64) Reading {
	whole := to.Wall - from.Wall
	at = min(max(at, from.Wall), to.Wall)
	if whole <= 0 {
		return Reading{Wall: max(at, from.Wall), CPU: to.CPU, RunQueue: to.RunQueue}
	}
	past, left := at-from.Wall, to.Wall-at
	cpu := portion(max(to.CPU-from.CPU, 0), past, whole)
	cpu = max(min(cpu, past), to.CPU-from.CPU-left)
	return Reading{
		Wall: at, CPU: from.CPU + cpu, RunQueue: from.RunQueue + portion(max(to.RunQueue-from.RunQueue, 0), past, whole),
	}
}

// UntilAsleep gives the reading at the moment at which a thread fell asleep. It did so once between two readings, and
// sleeps since.
func (from Reading) UntilAsleep(to Reading) Reading {
	ran := max(to.CPU-from.CPU, 0) + max(to.RunQueue-from.RunQueue, 0)
	to.Wall = min(from.Wall+ran, to.Wall)
	return to
}

// BeginAt begins the account of a thread with its clocks at a moment at which it ran, before any stack of it is known.
func (t *Thread) BeginAt(r Reading) {
	if t.Begin(r); t.BornAt == 0 {
		t.clock.Begin(r)
	}
}

// Claim takes note of a sample of a thread that ended before its clocks were read again. It stands for period ns of
// what nobody saw, as any sample stands for its period; what there is of that is shared out when the process's account
// is closed.
func (p *Process) Claim(where Seen, at, period int64) {
	if !p.Selected {
		where.State, where.Wait = Running, ""
		p.claims.add(where, at, period)
	}
}
