// SPDX-License-Identifier: Apache-2.0

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
//
// A run-time system may find its threads by a list, which it reads each 15 ms at most. New ones wait for the next
// reading then, and the end of one, too. A server with a thread for each request has some at each tick.
const (
	handOverAfter  = 100e6
	handOverListed = 20e6
	handOverShots  = 32
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
	shots, after := 0, int64(handOverAfter)
	for i := range o.events {
		e := &o.events[i]
		if e.Kind == handover.Looked {
			shots++
		}
		switch ends := e.Kind == handover.ThreadEnded; {
		case e.Kind == handover.Unchanged:
		case e.Soon, e.Kind != handover.Looked && !ends:
			return true
		case !ends && !isNew(e.Thread, now):
		case e.Thread.Proc == nil || e.Thread.Proc.Plans.Load() == nil:
			return true
		default:
			after = handOverListed
		}
	}
	return shots >= handOverShots || now-o.last >= after
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
