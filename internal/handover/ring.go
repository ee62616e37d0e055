// SPDX-License-Identifier: Apache-2.0

package handover

// ringSize is the number of ticks that the accountant may be behind.
const ringSize = 1024

// Batch is the events of one tick.
type Batch []Event

// Ring hands batches from the tracer to the accountant and back, so that none is allocated in a steady state.
type Ring struct {
	full chan Batch
	free chan Batch
}

// NewRing makes an empty ring.
func NewRing() *Ring {
	return &Ring{full: make(chan Batch, ringSize), free: make(chan Batch, ringSize)}
}

// Get gives an empty batch.
func (r *Ring) Get() Batch {
	select {
	case b := <-r.free:
		return b[:0]
	default:
		return make(Batch, 0, 64)
	}
}

// Room reports whether Send would not wait. Only the tracer may ask.
func (r *Ring) Room() bool { return len(r.full) < cap(r.full) }

// Send hands a batch over. It waits when there is no room.
func (r *Ring) Send(b Batch) { r.full <- b }

// Close says that no more batches come. Only the tracer may.
func (r *Ring) Close() { close(r.full) }

// Batches gives what was sent and not taken yet.
func (r *Ring) Batches() <-chan Batch { return r.full }

// Put gives a batch back.
func (r *Ring) Put(b Batch) {
	clear(b)
	select {
	case r.free <- b:
	default:
	}
}
