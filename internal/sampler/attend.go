package sampler

import "prywalk/internal/procmem"

// # Threads that stop late
//
// A look that is given up cannot be taken back: its thread is in a call that no signal ends, and stops when that is
// over, maybe hours later, and then for as long as nobody lets it go. Only this OS thread can. So whatever the
// controller waits for, it lets go of those meanwhile: a tick's end ([controller.attend]), the end of a collection or
// whatever ends a channel ([controller.await]), room in the ring ([controller.send]). Ticks do so by themselves, as do
// their pauses for the accountant and for others ([controller.breathe]), and those that are withheld. At the end of a
// recording the OS thread ends, and with it the kernel lets go of all.

// attendNap is how long the controller sleeps at a time where it cannot wait for threads, in nanoseconds.
const attendNap = 200e3

// attend serves until a moment, if there is anybody to serve.
func (c *controller) attend(until int64) {
	if c.looker.Pending() > 0 {
		c.collect(until)
	}
}

// await waits for the end of a channel.
func (c *controller) await(done <-chan struct{}) {
	for c.serveOnce() {
		select {
		case <-done:
			return
		default:
		}
	}
	<-done
}

// send hands a batch over, and waits for room.
func (c *controller) send(b batch) {
	for !c.ring.room() && c.serveOnce() {
	}
	c.ring.send(b)
}

// serveOnce lets go of those that have stopped, and naps; false if there is nobody to serve. The Go runtime may stop
// this goroutine in between, to collect garbage, but not for long.
func (c *controller) serveOnce() bool {
	if c.looker == nil || c.looker.Pending() == 0 {
		return false
	}
	c.collect(procmem.Now())
	procmem.SleepUntil(procmem.Now() + attendNap)
	return true
}
