package tracer

import (
	"prywalk/internal/handover"
	"prywalk/ptrace"
)

// Waking the accountant up for the few looks of one tick costs more than their unwinding. So looks are handed over
// together: at most handOverShots of them, and none later than handOverAfter ns, unless a thread or process has
// come or gone. What is read of the memory and files of such a one must be read soon. Nor does one wait
// whose stack was not as expected ([look.Shot.Surprising]): the next ones would not be either. The same goes for a
// process that makes code and gives it back: a stack is walked while its code is still there.
const (
	handOverAfter = 100e6
	handOverShots = 32
)

// outbox has the events that are not yet handed over. It belongs to the tracer.
type outbox struct {
	ring   *handover.Ring
	events handover.Batch
	last   int64 // the tick after which events were last handed over
}

// add appends an event.
func (o *outbox) add(e handover.Event) { o.events = append(o.events, e) }

// due reports whether the events so far are to be handed over.
func (o *outbox) due(now int64) bool {
	shots := 0
	for i := range o.events {
		if e := &o.events[i]; e.Kind != handover.Looked || e.Soon || isNew(e.Thread, now) {
			return true
		}
		shots++
	}
	return shots >= handOverShots || now-o.last >= handOverAfter
}

// isNew reports whether a thread has just come, and may have gone again before its name is known.
func isNew(t *handover.Thread, now int64) bool {
	return now-t.Met < handover.NameEvery && !t.Named.Load()
}

// handOver hands the events so far to the accountant, unless that is far behind. The tracer must not wait while a
// thread can be stopped. tick is the moment of the present tick.
func (o *outbox) handOver(tick int64) {
	if len(o.events) > 0 && o.ring.Room() {
		ptrace.Pin()
		defer ptrace.Unpin()
		o.ring.Send(o.events)
		o.events = o.ring.Get()
		o.last = tick
	}
}
