// SPDX-License-Identifier: Apache-2.0

package handover

// queueSize is how many batches the aggregator may lag.
const queueSize = 1024

// Batch is handed over as a whole.
type Batch []Event

// BatchQueue passes batches to the aggregator and back: in the steady state none is allocated.
type BatchQueue struct {
	full chan Batch
	free chan Batch
}

// NewBatchQueue returns an empty queue.
func NewBatchQueue() *BatchQueue {
	return &BatchQueue{full: make(chan Batch, queueSize), free: make(chan Batch, queueSize)}
}

// Get returns an empty batch.
func (r *BatchQueue) Get() Batch {
	select {
	case b := <-r.free:
		return b[:0]
	default:
		return make(Batch, 0, 64)
	}
}

// HasRoom reports that Send would not wait. It is the producer's.
func (r *BatchQueue) HasRoom() bool { return len(r.full) < cap(r.full) }

// Send hands a batch over. It waits for room.
func (r *BatchQueue) Send(b Batch) { r.full <- b }

// Close ends the batches. It is the producer's.
func (r *BatchQueue) Close() { close(r.full) }

// Batches returns the queue of batches.
func (r *BatchQueue) Batches() <-chan Batch { return r.full }

// Put takes a batch back.
func (r *BatchQueue) Put(b Batch) {
	clear(b)
	select {
	case r.free <- b:
	default:
	}
}
