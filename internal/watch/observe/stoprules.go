// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"time"

	"prywalk/ptrace"
)

const (
	firstStopTime = 30 * time.Microsecond // expected length of a first stop
	minStopTime   = 10 * time.Microsecond // least expected length
	// An estimate above the limit falls by 1/stopLimitDecay with each skipped stop.
	stopLimitDecay = 256
)

// A stop is skipped if its expected length, a moving mean of the thread's stops (at first of all), exceeds the limit.
type stopLimit struct {
	limit        time.Duration // 0 means none
	meanStopTime time.Duration
}

// LimitStops skips stops that are expected to take longer than d ([errs.MaxPause]); 0 means no limit. At least 10 µs
// are expected.
func (o *Observer) LimitStops(d time.Duration) { o.limit.limit = d }

func (l *stopLimit) tryAdmitStop(t *Thread) bool {
	if l.limit <= 0 {
		return true
	}
	expected := &t.stops.expectedTime
	if *expected == 0 {
		*expected = l.meanStopTime
		if l.meanStopTime == 0 {
			*expected = firstStopTime
		}
	}
	if *expected <= l.limit {
		return true
	}
	*expected = max(*expected-*expected/stopLimitDecay-1, minStopTime)
	return false
}

func (l *stopLimit) learnStopTime(t *Thread, length time.Duration) {
	t.stops.expectedTime = movingMean(t.stops.expectedTime, length)
	l.meanStopTime = movingMean(l.meanStopTime, length)
}

func movingMean(mean, length time.Duration) time.Duration {
	if mean == 0 {
		return max(length, minStopTime)
	}
	return max(mean+(length-mean)/8, minStopTime)
}

// Mode selects the ways of observing. The hidden flag --rung forces one.
type Mode uint8

// The modes.
const (
	ModeAuto        Mode = iota // the least intrusive way that is possible
	ModePassiveOnly             // running threads are not observed
	ModeAlwaysRead              // unchanged threads are read, too
	ModeAlwaysStop              // also sleepers, at every tick
)

var modeNames = [...]string{"auto", "passive", "no-reuse", "stop"}

// String returns the name on the command line.
func (m Mode) String() string { return modeNames[m] }

// ParseMode parses a name.
func ParseMode(name string) (Mode, error) {
	for i, n := range modeNames {
		if n == name {
			return Mode(i), nil
		}
	}
	return 0, fmt.Errorf("%q is no way to observe a thread: choose one of %v", name, modeNames)
}

// # Queued threads
//
// A queued thread stops late; by then a CPU quota may hold up the tracer.

const maxQueued = 4 * time.Second // after which a queued thread is stopped in any case

// StopOnlyOnCPU limits stops to threads on a CPU, if the kernel shows that, those found queued for 4 s, and, if
// preempted is true, those that the tracer preempted.
func (o *Observer) StopOnlyOnCPU(preempted bool) {
	o.stopsOnlyOnCPU, o.stopsPreempted = true, preempted
}

func (o *Observer) beginSample(t *Thread) {
	t.skid.beginSample(o.stopsOnlyOnCPU && !o.stopsPreempted)
}

func (o *Observer) deferUntilOnCPU(t *Thread) bool {
	if !o.stopsOnlyOnCPU {
		return false
	}
	if !o.waitsForCPU(t) {
		return false
	}
	if o.stopsPreempted && t.skid.many && o.preemption.decide(t) && t.skid.preempted {
		return false
	}
	now := ptrace.Now()
	if t.stops.queuedSince == 0 {
		t.stops.queuedSince = now
	}
	return now.Sub(t.stops.queuedSince) < maxQueued
}

func (o *Observer) waitsForCPU(t *Thread) bool {
	on, known := t.files.OnCPU()
	return known && !on
}

// # 32-bit code
//
// A recording goes on after an exec of a 32-bit program. A stop in 32-bit code reads nothing, and does not restart the
// system call that it ends early. So after each such stop in a row twice as many stops are omitted. A stop in 64-bit
// code (Wine uses both), or an exec, ends that.

// maxOmitted32 is the most omitted stops in a row.
const maxOmitted32 = 63

type code32 struct {
	addressSpace uint64 // of the last stop in 32-bit code
	omit, left   uint8  // stops to omit after it, and of these still left
}

func (c *code32) omitMore(addressSpace uint64) {
	if addressSpace != c.addressSpace {
		*c = code32{addressSpace: addressSpace}
	}
	c.omit = min(2*c.omit+1, maxOmitted32)
	c.left = c.omit
}

// tryOmit reports whether to omit a stop in this address space.
func (c *code32) tryOmit(addressSpace uint64) bool {
	if c.left == 0 || addressSpace != c.addressSpace {
		return false
	}
	c.left--
	return true
}

// StopRecord is the length of a stop, and its effect on a call.
type StopRecord struct {
	// StopTime is an upper bound of its length, without queued, blocked or kernel time before it ([ptrace.Times] has
	// the exceptions).
	StopTime  time.Duration
	StopCause ptrace.Cause // of a stop longer than LongStop
	Effect    CallEffect
}

// recordLostStop records a stop without a sample: a read was late ([errs.MapLock]), or an exec had replaced the memory
// that was read.
func (t *Thread) recordLostStop(lost StopRecord) {
	t.sleep.base.valid = false
	t.stops.lost = append(t.stops.lost, lost)
}

// TakeLostStops returns the lost stops since its last call, valid until the next stop.
func (t *Thread) TakeLostStops() []StopRecord {
	lost := t.stops.lost
	t.stops.lost = t.stops.lost[:0]
	return lost
}
