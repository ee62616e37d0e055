package sampler

import (
	"prywalk/internal/look"
)

// eventKind says what the controller tells the accountant.
type eventKind uint8

const (
	looked    eventKind = iota // a look with a shot
	unchanged                  // found unchanged up to this moment (checkpoint)
	failed                     // a look that gave nothing
	ended                      // the thread is gone
	vanished                   // the process is gone
	admitted                   // a process is sampled from now on
	renamed                    // the process's first thread has another name: an exec?
	flush                      // write a checkpoint when all before is booked
	unwatched                  // nobody was looked at for that length from this moment on
	resumed                    // the machine was suspended for that length until this moment
)

// event is what happened to a thread or process at a tick.
type event struct {
	kind   eventKind
	thread *thread
	proc   *process
	shot   *look.Shot
	at     Reading // for unchanged and ended: the last moment that is certain
	reuses int64   // ticks at which the thread was found unchanged before this
	length int64   // for unwatched and resumed, ns; for ended: how old its last look may be; for looked: since the tick before
	alive  bool    // for ended: it goes on, it is the recording that ends
	rest   Reading // for ended: its clocks at the end, if its last look is not of then; else zero
}

// batch is the events of one tick.
type batch []event

// batchRing hands batches from the controller to the accountant and back, so that
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
