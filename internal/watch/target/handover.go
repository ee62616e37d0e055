// SPDX-License-Identifier: Apache-2.0

package target

import (
	"sync/atomic"
	"time"

	"prywalk/internal/base/monotonic"
	"prywalk/internal/host/selfruntime"
	"prywalk/internal/watch/observe"
)

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

// HasRoom reports that Send would not wait. It is the tracer's.
func (q *BatchQueue) HasRoom() bool { return len(q.full) < cap(q.full) }

// Send hands a batch over. It waits for room.
func (q *BatchQueue) Send(b Batch) { q.full <- b }

// Close ends the batches. It is the tracer's.
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

// Waking the aggregator for a few samples costs more than walking them: they wait for handOverSamples, or
// handOverAfter. Events that are soon out of date go at once, and samples of a thread that a runtime may yet name: it
// can end before the next tick.
const (
	handOverAfter   = 100 * time.Millisecond
	handOverSamples = 32
)

// Outbox holds the tracer's events. Only the tracer uses it.
type Outbox struct {
	queue  *BatchQueue
	events Batch
	last   monotonic.Moment // tick
}

// NewOutbox returns an empty one.
func NewOutbox(r *BatchQueue) Outbox { return Outbox{queue: r, events: r.Get()} }

// Len returns the number of held events.
func (o *Outbox) Len() int { return len(o.events) }

// Add appends an event.
func (o *Outbox) Add(e Event) { o.events = append(o.events, e) }

// Due reports whether to hand over now.
func (o *Outbox) Due(now monotonic.Moment) bool {
	samples, wait := 0, handOverAfter
	for i := range o.events {
		e := &o.events[i]
		if e.IsSample() {
			samples++
		}
		if wait = min(wait, e.maxWait(now)); wait == 0 {
			return true
		}
	}
	return samples >= handOverSamples || now.Sub(o.last) >= wait
}

// maxWait returns how old the last handover may be while this event is held; 0 means that it is handed over at
// once.
func (e *Event) maxWait(now monotonic.Moment) time.Duration {
	if e.What != nil {
		return 0
	}
	unnamed := e.IsSample() && now.Sub(e.Thread.FirstListedAt) < NameEvery && !e.Thread.NamedByRuntime.Load()
	if e.IsSample() && e.WalkAtOnce || unnamed {
		return 0
	}
	return handOverAfter
}

// HandOver hands the events over if there is room, at a tick. Sending may make the goroutine yield; see ptrace.Pin.
func (o *Outbox) HandOver(tick monotonic.Moment) {
	if len(o.events) > 0 && o.queue.HasRoom() {
		o.queue.Send(o.events)
		o.events = o.queue.Get()
		o.last = tick
	}
}

// Flush hands the last events over. It may wait for room.
func (o *Outbox) Flush() {
	if len(o.events) > 0 {
		o.queue.Send(o.events)
		o.events = nil
	}
}

// Common is the state that tracer and aggregator share.
type Common struct {
	Queue     *BatchQueue
	Requests  *Requests
	Pool      *observe.Pool // of the events' raw samples
	Garbage   *selfruntime.Collector
	Failure   *selfruntime.Failure
	QuotaGate CPUQuotaGate
}

// NewCommon returns a recording's state.
func NewCommon() *Common {
	return &Common{
		Queue: newBatchQueue(), Requests: &Requests{}, Pool: observe.NewPool(queueSize), Garbage: selfruntime.NewCollector(),
		Failure: &selfruntime.Failure{},
	}
}

// Requests are the tracer's to the aggregator.
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

// Took is the last one's duration.
func (r *Request) Took() time.Duration { return time.Duration(r.took.Load()) }

// Done notes the duration. again means that it was repeated meanwhile, and stays open.
func (r *Request) Done(ns time.Duration, again bool) {
	r.took.Store(int64(ns))
	r.open.Store(again)
}

// CPUQuotaGate reserves the rest of a CPU quota for the tracer while a stop is pending: while closed, the aggregator
// begins no event. The zero value is open.
type CPUQuotaGate struct{ reopened atomic.Pointer[chan struct{}] }

// Close makes the aggregator wait before its next event. Only the tracer calls it.
func (c *CPUQuotaGate) Close() {
	if c.reopened.Load() == nil {
		reopened := make(chan struct{})
		c.reopened.Store(&reopened)
	}
}

// Open lets the aggregator continue. Safe for concurrent use.
func (c *CPUQuotaGate) Open() {
	if reopened := c.reopened.Swap(nil); reopened != nil {
		close(*reopened)
	}
}

// Wait waits until it is open. It is the aggregator's.
func (c *CPUQuotaGate) Wait() {
	for reopened := c.reopened.Load(); reopened != nil; reopened = c.reopened.Load() {
		<-*reopened
	}
}
