// SPDX-License-Identifier: Apache-2.0

package aggregator

import "sync/atomic"

// States of a [recordingLock].
const (
	lockOwn     int32 = iota
	lockReading       // the aggregator reads the target, and may hang
	lockTaken         // another goroutine may change the recording
)

// recordingLock is the ownership of the recording. A read of a target can hang for ever; during one, and only then,
// another goroutine can take over.
type recordingLock struct{ state atomic.Int32 }

// beginRead must precede a read of the target's memory or files.
func (l *recordingLock) beginRead() { l.state.Store(lockReading) }

// endRead must follow that read. It blocks for ever after a takeover.
func (l *recordingLock) endRead() {
	if !l.state.CompareAndSwap(lockReading, lockOwn) {
		select {}
	}
}

// takeOver takes the recording for the calling goroutine; false: the aggregator is not in a read.
func (l *recordingLock) takeOver() bool { return l.state.CompareAndSwap(lockReading, lockTaken) }
