// SPDX-License-Identifier: Apache-2.0

package observe

import "prywalk/ptrace"

// StopRecord is the length of a stop, and its effect on a call.
type StopRecord struct {
	Time  int64        // upper bound of its length, ns
	Cause ptrace.Cause // of a stop longer than LongStop
	CallEffect
}

// noteLostStop records a stop without a sample: a read was late ([refusal.MapLock]), or an exec had replaced the memory
// that was read.
func (t *Thread) noteLostStop(lost StopRecord) {
	t.sleep.base.valid = false
	t.stops.lost = append(t.stops.lost, lost)
}

// TakeLostStops returns the lost stops since its last call, valid until the next stop.
func (t *Thread) TakeLostStops() []StopRecord {
	lost := t.stops.lost
	t.stops.lost = t.stops.lost[:0]
	return lost
}
