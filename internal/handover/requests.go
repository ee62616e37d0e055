// SPDX-License-Identifier: Apache-2.0

package handover

import "sync/atomic"

// Requests are what the producer asks of the aggregator, so that it does not ask twice.
type Requests struct {
	Checkpoint, Refresh Request
}

// Request is a request of the producer to the aggregator.
type Request struct {
	open atomic.Bool  // asked for and not done
	took atomic.Int64 // duration of the last, ns
}

// Ask notes that it was asked for.
func (r *Request) Ask() { r.open.Store(true) }

// Open reports whether it was asked for and is not done.
func (r *Request) Open() bool { return r.open.Load() }

// Took gives what the last one took, in nanoseconds.
func (r *Request) Took() int64 { return r.took.Load() }

// Done records its duration in nanoseconds. again reports that it was asked for again meanwhile.
func (r *Request) Done(ns int64, again bool) {
	r.took.Store(ns)
	r.open.Store(again)
}
