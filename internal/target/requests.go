// SPDX-License-Identifier: Apache-2.0

package target

import "sync/atomic"

// Requests are the producer's to the aggregator.
type Requests struct {
	Checkpoint, Refresh Request
}

// Request is one kind's state.
type Request struct {
	open atomic.Bool  // requested and not done
	took atomic.Int64 // ns
}

// Ask opens the request.
func (r *Request) Ask() { r.open.Store(true) }

// Open reports whether the request is open.
func (r *Request) Open() bool { return r.open.Load() }

// Took is the last one's duration, ns.
func (r *Request) Took() int64 { return r.took.Load() }

// Done notes the duration, ns. again: it was repeated meanwhile, and stays open.
func (r *Request) Done(ns int64, again bool) {
	r.took.Store(ns)
	r.open.Store(again)
}
