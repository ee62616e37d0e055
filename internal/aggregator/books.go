// SPDX-License-Identifier: Apache-2.0

package aggregator

import "sync/atomic"

// Owners of the recording: the aggregator lends it while it reads the target.
const (
	ownBooks  int32 = iota // the aggregator's
	lentBooks              // lent during a read
	lostBooks              // taken by another goroutine
)

// books is the ownership of the recording.
type books struct{ state atomic.Int32 }

// lend is called before memory or files of the target are read.
func (b *books) lend() { b.state.Store(lentBooks) }

// back is called after that; it does not return if the books were taken.
func (b *books) back() {
	if !b.state.CompareAndSwap(lentBooks, ownBooks) {
		select {}
	}
}

// seize takes lent books.
func (b *books) seize() bool { return b.state.CompareAndSwap(lentBooks, lostBooks) }
