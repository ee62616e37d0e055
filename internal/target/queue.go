// SPDX-License-Identifier: Apache-2.0

package target

// queueSize is how many batches the aggregator may lag.
const queueSize = 1024

// Batch is handed over as a whole.
type Batch []Event

// BatchQueue passes batches to the aggregator and back: in the steady state none is allocated.
type BatchQueue struct {
	full chan Batch
	free chan Batch
}

func newBatchQueue() *BatchQueue {
	return &BatchQueue{full: make(chan Batch, queueSize), free: make(chan Batch, queueSize)}
}

// Get returns an empty batch.
func (q *BatchQueue) Get() Batch {
	select {
	case b := <-q.free:
		return b[:0]
	default:
		return make(Batch, 0, 64)
	}
}

// HasRoom reports that Send would not wait. It is the producer's.
func (q *BatchQueue) HasRoom() bool { return len(q.full) < cap(q.full) }

// Send hands a batch over. It waits for room.
func (q *BatchQueue) Send(b Batch) { q.full <- b }

// Close ends the batches. It is the producer's.
func (q *BatchQueue) Close() { close(q.full) }

// Batches returns the queue of batches.
func (q *BatchQueue) Batches() <-chan Batch { return q.full }

// Put takes a batch back.
func (q *BatchQueue) Put(b Batch) {
	clear(b)
	select {
	case q.free <- b:
	default:
	}
}
