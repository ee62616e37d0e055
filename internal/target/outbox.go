// SPDX-License-Identifier: Apache-2.0

package target

// Waking the aggregator for a few samples costs more than walking them: they wait for handOverSamples, or handOverAfter
// ns. Events that are soon out of date go at once, and samples of a thread that a runtime may yet name: it can end
// before the next tick.
const (
	handOverAfter   = 100e6
	handOverSamples = 32
)

// Outbox holds a producer's events. Only the producer uses it.
type Outbox struct {
	queue  *BatchQueue
	events Batch
	last   int64 // tick, CLOCK_MONOTONIC ns
}

// NewOutbox returns an empty one.
func NewOutbox(r *BatchQueue) Outbox { return Outbox{queue: r, events: r.Get()} }

// Len returns the number of held events.
func (o *Outbox) Len() int { return len(o.events) }

// Add appends an event.
func (o *Outbox) Add(e Event) { o.events = append(o.events, e) }

// Due reports whether to hand over now.
func (o *Outbox) Due(now int64) bool {
	samples, wait := 0, int64(handOverAfter)
	for i := range o.events {
		e := &o.events[i]
		if e.IsSample() {
			samples++
		}
		if wait = min(wait, e.maxWait(now)); wait == 0 {
			return true
		}
	}
	return samples >= handOverSamples || now-o.last >= wait
}

// maxWait returns how old, in ns, the last handover may be while this event is held; 0: it is handed over at once.
func (e *Event) maxWait(now int64) int64 {
	if e.What != nil || e.IsSample() && (e.WalkAtOnce || isNew(e.Thread, now)) {
		return 0
	}
	return handOverAfter
}

func isNew(t *Thread, now int64) bool {
	return now-t.FirstListedAt < NameEvery && !t.NamedByRuntime.Load()
}

// HandOver hands the events over if there is room. tick is CLOCK_MONOTONIC ns. Sending may make the goroutine yield;
// see ptrace.Pin.
func (o *Outbox) HandOver(tick int64) {
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
