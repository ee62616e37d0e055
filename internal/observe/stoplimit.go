// SPDX-License-Identifier: Apache-2.0

package observe

import "time"

const (
	firstStopTime = 30e3 // expected length of a first stop, ns
	minStopTime   = 10e3 // least expected length, ns
	// An estimate above the limit falls by 1/stopLimitDecay with each skipped stop.
	stopLimitDecay = 256
)

// A stop is skipped if its expected length, a moving mean of the thread's stops (at first of all), exceeds the limit.
type stopLimit struct {
	limit        int64 // ns; 0: none
	meanStopTime int64 // ns
}

// LimitStops skips stops that are expected to take longer than d ([refusal.MaxPause]); 0: no limit. At least 10 µs are
// expected.
func (o *Observer) LimitStops(d time.Duration) { o.limit.limit = int64(d) }

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

func (l *stopLimit) noteStop(t *Thread, ns int64) {
	t.stops.expectedTime = movingMean(t.stops.expectedTime, ns)
	l.meanStopTime = movingMean(l.meanStopTime, ns)
}

func movingMean(mean, ns int64) int64 {
	if mean == 0 {
		return max(ns, minStopTime)
	}
	return max(mean+(ns-mean)/8, minStopTime)
}
