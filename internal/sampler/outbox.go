package sampler

import (
	"prywalk/internal/booking"
	"prywalk/internal/look"
	"prywalk/ptrace"
)

// # Messages
//
// The tracer tells the accountant what it has seen; nobody waits for an answer. What an event points to belongs to
// the accountant from then on.
//
// What comes back is little. Each is one value that may be read at any time:
//   - what the next looks at a thread are to copy ([look.Needs]),
//   - and those at a process that runs another program (processAccount.extra);
//   - how many bytes of copies wait ([look.Pool]);
//   - whether a checkpoint is being written, and how long the last one took ([published]);
//   - whether garbage is to be collected (package ownruntime).

// eventKind says what the tracer tells the accountant.
type eventKind uint8

const (
	looked          eventKind = iota // a look with a shot
	unchanged                        // found unchanged up to this moment (checkpoint)
	threadEnded                      // the thread is gone, or the recording ends
	processEnded                     // the process is gone, or the recording ends
	processBegan                     // a process is sampled from now on
	renamed                          // the process's first thread has another name: an exec?
	checkpointAsked                  // write a checkpoint when all before is booked
	refreshAsked                     // tell the watcher when all before is booked
	notObserved                      // nobody was looked at for that length from this moment on
	sampledEnded                     // a sample of a thread that has ended, or that nobody met
	childSampled                     // a sample of a child of the process, which nobody met
	seenRunning                      // a thread is met running, and no stack of it is known yet
	resumed                          // the machine was suspended for that length until this moment
)

// event is what happened to a thread or process at a tick.
type event struct {
	kind   eventKind
	thread *threadAccount
	proc   *processAccount
	shot   *look.Shot
	ran    *ranProgram       // what a sampled process ran, if it is not what the process runs that the event is of
	before booking.Unchanged // of the thread, before this
	at     int64             // CLOCK_MONOTONIC, ns
	now    booking.Reading   // for seenRunning
	length int64             // for notObserved and resumed, ns; for looked: since the tick before
	end    *threadEnd        // for threadEnded
	used   *processEnd       // for processEnded
}

// threadEnd is what the tracer knows of the end of a thread.
type threadEnd struct {
	booking.End
	left look.Left // what is not told yet
}

// processEnd is what the tracer knows of the end of a process, in nanoseconds of processor time.
type processEnd struct {
	charged int64 // by the process's clock, while it was sampled
	before  int64 // and before that
	// ended is what those of its threads used, in all their lives, that ended while it was sampled. Before its
	// account is closed, it is what others had used, below zero.
	ended int64
}

// batch is the events of one tick.
type batch []event

// batchRing hands batches from the tracer to the accountant and back, so that
// none is allocated in a steady state.
type batchRing struct {
	full chan batch
	free chan batch
}

func newBatchRing(n int) *batchRing {
	return &batchRing{full: make(chan batch, n), free: make(chan batch, n)}
}

// get gives an empty batch.
func (r *batchRing) get() batch {
	select {
	case b := <-r.free:
		return b[:0]
	default:
		return make(batch, 0, 64)
	}
}

// room reports whether send would not wait. Only the sender may ask.
func (r *batchRing) room() bool { return len(r.full) < cap(r.full) }

// send hands a batch over. It waits when there is no room.
func (r *batchRing) send(b batch) {
	r.full <- b
}

// put gives a batch back.
func (r *batchRing) put(b batch) {
	clear(b)
	select {
	case r.free <- b:
	default:
	}
}

// Waking the accountant up for the few looks of one tick costs more than their unwinding. So looks are handed over
// together: at most handOverShots of them, and none later than handOverAfter ns, unless a thread or process has
// come or gone. What is read of the memory and files of such a one must be read soon.
const (
	handOverAfter = 100e6
	handOverShots = 32
)

// outbox has the events that are not yet handed over. It belongs to the tracer.
type outbox struct {
	ring   *batchRing
	events batch
	last   int64 // the tick after which events were last handed over
}

// add appends an event.
func (o *outbox) add(e event) { o.events = append(o.events, e) }

// due reports whether the events so far are to be handed over.
func (o *outbox) due(now int64) bool {
	shots := 0
	for i := range o.events {
		if e := &o.events[i]; e.kind != looked || now-e.thread.met < nameEvery {
			return true
		}
		shots++
	}
	return shots >= handOverShots || now-o.last >= handOverAfter
}

// handOver hands the events so far to the accountant, unless that is far behind. The tracer must not wait while a
// thread can be stopped. tick is the moment of the present tick.
func (o *outbox) handOver(tick int64) {
	if len(o.events) > 0 && o.ring.room() {
		ptrace.Pin()
		defer ptrace.Unpin()
		o.ring.send(o.events)
		o.events = o.ring.get()
		o.last = tick
	}
}
