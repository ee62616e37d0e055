// SPDX-License-Identifier: Apache-2.0

package handover

// ringSize is how many batches the aggregator may lag.
const ringSize = 1024

// Batch is handed over as a whole.
type Batch []Event

// Ring passes batches to the aggregator and back: in the steady state none is allocated.
type Ring struct {
	full chan Batch
	free chan Batch
}

// NewRing returns an empty ring.
func NewRing() *Ring {
	return &Ring{full: make(chan Batch, ringSize), free: make(chan Batch, ringSize)}
}

// Get returns an empty batch.
func (r *Ring) Get() Batch {
	select {
	case b := <-r.free:
		return b[:0]
	default:
		return make(Batch, 0, 64)
	}
}

// Room reports that Send would not wait. It is the producer's.
func (r *Ring) Room() bool { return len(r.full) < cap(r.full) }

// Send hands a batch over. It waits for room.
func (r *Ring) Send(b Batch) { r.full <- b }

// Close ends the batches. It is the producer's.
func (r *Ring) Close() { close(r.full) }

// Batches returns the queue of batches.
func (r *Ring) Batches() <-chan Batch { return r.full }

// Put takes a batch back.
func (r *Ring) Put(b Batch) {
	clear(b)
	select {
	case r.free <- b:
	default:
	}
}
