// SPDX-License-Identifier: Apache-2.0

package accountant

import "sync/atomic"

// Whose the recording is: the accountant gives it out of its hands while it reads the target.
const (
	ownBooks  int32 = iota // it books
	lentBooks              // it reads
	lostBooks              // somebody else has taken the books over
)

// books tells whose they are.
type books struct{ state atomic.Int32 }

// lend is called by the accountant before it reads memory or files of the target.
func (b *books) lend() { b.state.Store(lentBooks) }

// back is called when it has: it does not return if the books are somebody else's by now.
func (b *books) back() {
	if !b.state.CompareAndSwap(lentBooks, ownBooks) {
		select {}
	}
}

// seize takes the books from an accountant that reads.
func (b *books) seize() bool { return b.state.CompareAndSwap(lentBooks, lostBooks) }
