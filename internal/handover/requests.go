// SPDX-License-Identifier: Apache-2.0

package handover

import "sync/atomic"

// Requests are what the accountant was asked for and is at, so that the tracer does not ask twice.
type Requests struct {
	Checkpoint, Refresh Request
}

// Request is one of them.
type Request struct {
	open atomic.Bool  // it is asked for and not yet done
	took atomic.Int64 // how long the last one took, ns
}

// Ask takes note that it is asked for.
func (r *Request) Ask() { r.open.Store(true) }

// Open reports whether it was asked for and is not done.
func (r *Request) Open() bool { return r.open.Load() }

// Took gives how long the last one took, in nanoseconds.
func (r *Request) Took() int64 { return r.took.Load() }

// Done takes note that it took so many nanoseconds. again: it was asked for anew meanwhile.
func (r *Request) Done(ns int64, again bool) {
	r.took.Store(ns)
	r.open.Store(again)
}
