// SPDX-License-Identifier: Apache-2.0

package aggregator

import "sync/atomic"

const (
	ownedByAggregator int32 = iota
	aggregatorReads         // the aggregator may hang in a read of the target
	takenOver               // another goroutine may change the recording
)

// recordingOwnership is the ownership of the recording. A read of a target can hang for ever; during one, and only
// then, another goroutine can take over.
type recordingOwnership struct{ state atomic.Int32 }

// beginRead must precede a read of the target's memory or files. Reads do not nest.
func (o *recordingOwnership) beginRead() { o.state.Store(aggregatorReads) }

func (o *recordingOwnership) reading(f func()) {
	o.beginRead()
	defer o.endRead()
	f()
}

// endRead must follow that read. It blocks for ever after a takeover.
func (o *recordingOwnership) endRead() {
	if !o.state.CompareAndSwap(aggregatorReads, ownedByAggregator) {
		select {}
	}
}

func (o *recordingOwnership) isTakenOver() bool { return o.state.Load() == takenOver }

// takeOver takes the recording for the calling goroutine; false: the aggregator is not in a read.
func (o *recordingOwnership) takeOver() bool {
	return o.state.CompareAndSwap(aggregatorReads, takenOver)
}
