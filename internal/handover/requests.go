// SPDX-License-Identifier: Apache-2.0

package handover

import "sync/atomic"

// Requests are the producer's requests to the aggregator. They show the producer which are open.
type Requests struct {
	Checkpoint, Refresh Request
}

// Request is the state of one kind of request.
type Request struct {
	open atomic.Bool  // requested and not done
	took atomic.Int64 // duration of the last one, ns
}

// Ask opens the request.
func (r *Request) Ask() { r.open.Store(true) }

// Open reports whether the request is open.
func (r *Request) Open() bool { return r.open.Load() }

// Took returns the duration of the last one, in ns.
func (r *Request) Took() int64 { return r.took.Load() }

// Done records the duration in ns. again keeps the request open: it was repeated meanwhile.
func (r *Request) Done(ns int64, again bool) {
	r.took.Store(ns)
	r.open.Store(again)
}
