// SPDX-License-Identifier: Apache-2.0

package aggregator

import "sync/atomic"

// States of a recordingLock.
const (
	lockOwn     int32 = iota // the aggregator may change the recording
	lockReading              // the aggregator reads the target, and may hang
	lockTaken                // another goroutine may change the recording
)

// recordingLock is the ownership of the recording. A read of a target's memory or files can hang for ever; the
// recording can be taken over during one, and only then.
type recordingLock struct{ state atomic.Int32 }

// beginRead must be called before memory or files of the target are read.
func (l *recordingLock) beginRead() { l.state.Store(lockReading) }

// endRead must be called after that. It blocks for ever if another goroutine took over the recording meanwhile.
func (l *recordingLock) endRead() {
	if !l.state.CompareAndSwap(lockReading, lockOwn) {
		select {}
	}
}

// takeOver takes the recording for the calling goroutine; false if the aggregator is not in a read.
func (l *recordingLock) takeOver() bool { return l.state.CompareAndSwap(lockReading, lockTaken) }
