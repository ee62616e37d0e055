// SPDX-License-Identifier: Apache-2.0

// Package sample defines the values in which engines report threads, and functions at addresses.
//
// Sources: proc_pid_stat(5) (states); Documentation/scheduler/sched-stats.rst (/proc/PID/task/TID/schedstat).
package sample

import "math/bits"

// ProcessID numbers the processes of one run, from 1. It is never reused.
type ProcessID uint32

// ThreadID numbers the threads of one run, from 1. It is never reused.
type ThreadID uint64

// StackID numbers the stacks of one recording, from 0.
type StackID uint32

// Reading is a thread's clocks at one moment, in nanoseconds. Wall is CLOCK_MONOTONIC; CPU and RunQueue are of
// /proc/PID/task/TID/schedstat.
type Reading struct {
	Wall, CPU, RunQueue int64
}

// Unchanged counts ticks at which a thread was as at its last sample; Last is its clocks at the last of them.
type Unchanged struct {
	Ticks int64
	Last  Reading
}

// NotStopped is what is known of a thread that was not stopped since its last sample. Zero Wall: none.
type NotStopped struct {
	// InCall is the clocks when the thread was last found in the system call of its last sample.
	InCall Reading
	// Other is the clocks when stops were last suppressed for another reason.
	Other Reading
	// Refused reports that it was found running, and was not stopped: --max-pause, another tracer, no permission, too many
	// pending stops, or 32-bit code.
	Refused bool
}

// Suppressed reports whether stops were suppressed, to do no harm.
func (n *NotStopped) Suppressed() bool { return n.InCall.Wall != 0 || n.Other.Wall != 0 }

// # Clocks between two readings
//
// The clocks of a kernel sample are read at the ticks before and after it. In between they are exact for a thread that
// ran all the time, else interpolated.

// Between returns the clocks at a moment; one outside counts as the nearest.
func (from Reading) Between(to Reading, at int64) Reading {
	whole := to.Wall - from.Wall
	at = min(max(at, from.Wall), to.Wall)
	if whole <= 0 {
		return Reading{Wall: max(at, from.Wall), CPU: to.CPU, RunQueue: to.RunQueue}
	}
	past, left := at-from.Wall, to.Wall-at
	cpu := Portion(max(to.CPU-from.CPU, 0), past, whole)
	cpu = max(min(cpu, past), to.CPU-from.CPU-left)
	return Reading{
		Wall: at, CPU: from.CPU + cpu, RunQueue: from.RunQueue + Portion(max(to.RunQueue-from.RunQueue, 0), past, whole),
	}
}

// Portion returns v × part / whole, rounded towards 0, without overflow. Precondition: 0 ≤ part ≤ whole, whole > 0.
func Portion(v, part, whole int64) int64 {
	if v < 0 {
		return -Portion(-v, part, whole)
	}
	hi, lo := bits.Mul64(uint64(v), uint64(part))
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(q)
}

// State is what a thread did when it was observed.
type State uint8

// Values of [State]. Running: on a CPU or queued for one (the kernel's R).
const (
	Running State = iota
	Sleeping
	Disk
	Stopped
)

var states = [...]struct{ name, letter string }{
	Running: {"running", "R"}, Sleeping: {"sleeping", "S"}, Disk: {"disk", "D"}, Stopped: {"stopped", "T"},
}

// String returns the name in recordings.
func (s State) String() string { return states[s].name }

// Letter returns the kernel's letter (proc_pid_stat(5)).
func (s State) Letter() string { return states[s].letter }

// StateOf converts the kernel's letter. I and P are of kernel threads, t is a thread stopped by a debugger.
func StateOf(letter byte) State {
	switch letter {
	case 'R':
		return Running
	case 'D':
		return Disk
	case 'T', 't':
		return Stopped
	}
	return Sleeping
}
