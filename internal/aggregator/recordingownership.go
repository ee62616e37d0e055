// SPDX-License-Identifier: Apache-2.0

package aggregator

import "sync/atomic"

const (
	ownedByAggregator int32 = iota
	aggregatorReads         // may hang
	takenOver               // another goroutine may change the recording
)

// A recordingOwnership can be taken over only during a read of a target, which can hang for ever.
type recordingOwnership struct{ state atomic.Int32 }

// beginRead precedes a read of the target's memory or files. Reads do not nest.
func (o *recordingOwnership) beginRead() { o.state.Store(aggregatorReads) }

func (o *recordingOwnership) reading(f func()) {
	o.beginRead()
	defer o.endRead()
	f()
}

// endRead follows that read. It blocks for ever after a takeover.
func (o *recordingOwnership) endRead() {
	if !o.state.CompareAndSwap(aggregatorReads, ownedByAggregator) {
		select {}
	}
}

func (o *recordingOwnership) isTakenOver() bool { return o.state.Load() == takenOver }

// takeOver returns false if the aggregator is not in a read.
func (o *recordingOwnership) takeOver() bool {
	return o.state.CompareAndSwap(aggregatorReads, takenOver)
}
