// SPDX-License-Identifier: Apache-2.0

package sample

import "math/bits"

// ProcessID numbers the processes of one run. Unlike the kernel's numbers it is never used again. 0 is no process.
type ProcessID uint32

// ThreadID numbers the threads of one run likewise. 0 is no thread.
type ThreadID uint64

// StackID numbers the stacks of one recording. 0 is the first of them.
type StackID uint32

// Reading is a thread's clocks at one moment, in nanoseconds. Wall is CLOCK_MONOTONIC; CPU and RunQueue are the first
// two fields of /proc/PID/task/TID/schedstat.
type Reading struct {
	Wall, CPU, RunQueue int64
}

// Unchanged says at how many ticks a thread was found as at its last sample, and its clocks at the last of them.
type Unchanged struct {
	Ticks int64
	Last  Reading
}

// NotStopped is the time since a thread's last sample in which it was not stopped on purpose, and so not observed. A
// zero Wall: no such time.
type NotStopped struct {
	// InCall has the clocks when the thread was last found in the system call of its last sample.
	InCall Reading
	// Other has the clocks when it was last not stopped for another reason.
	Other Reading
}

// # Clocks between two readings
//
// A thread that is stopped has its clocks read at that moment. The kernel's samples come without: the clocks are read
// at the tick before a sample and at the one after. What they showed in between follows from that, exactly for a thread
// that ran all the time; for others it is a straight line, within what can be. Only the division of a thread's time
// among its samples is estimated: its sum is the kernel's.

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

// portion gives part of whole of a value, rounded down. Precondition: none is negative, part is at most whole, and
// whole is positive.
func portion(v, part, whole int64) int64 {
	hi, lo := bits.Mul64(uint64(v), uint64(part))
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(q)
}
