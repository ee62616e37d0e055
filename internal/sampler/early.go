package sampler

import "prywalk/internal/look"

// # First looks
//
// Whether a thread makes many system calls, so that only exact looks say where its time
// goes (package look, ManyCalls), is known after some stops. To book the first looks as
// they are would favour what is not a system call: the first stop in one tells that the
// thread makes many. So they wait, and are booked, all in the same way, when it is known.

const (
	// mostEarly and earlyFor bound how many looks wait, and how long, in nanoseconds: a
	// thread that has not been seen at work often enough by then is taken as it is.
	mostEarly = 64
	earlyFor  = 1e9
)

// booking is a look as the thread's clock needs it.
type booking struct {
	at        Reading
	where     seen
	onCPU     bool
	basis     look.Basis
	reuses    int64   // ticks before it at which the thread was unchanged,
	unchanged Reading // and the last of them
	apart     int64   // the time between the tick of the look and the one before, ns
}

// take books a look, or keeps it until it is known what the thread's first looks are worth.
func (a *accountant) take(th *thread, b *booking) {
	if n := len(th.early); n > 0 {
		switch {
		case n >= mostEarly || b.at.Wall-th.early[0].at.Wall > earlyFor:
			a.settleEarly(th, false)
		case b.basis == look.FewCalls, b.basis == look.ManyCalls:
			a.settleEarly(th, b.basis == look.ManyCalls)
		}
	}
	if b.basis == look.Early || len(th.early) > 0 {
		th.early = append(th.early, *b)
		return
	}
	a.book(th, b)
}

// settleEarly books the looks that have waited.
func (a *accountant) settleEarly(th *thread, manyCalls bool) {
	early := th.early
	th.early = nil
	for i := range early {
		b := &early[i]
		b.onCPU = b.onCPU && (!manyCalls || b.basis == look.Exact)
		a.book(th, b)
	}
}
