package sampler

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"prywalk/internal/look"
	"prywalk/internal/procmem"
)

// # What hangs
//
// A read of a target's memory, or of a file that it names, can wait for somebody who never comes (package look,
// [look.Stalls]). If that is the tracer, a thread of the target may stand still for as long: the recording ends at
// once. If it is the accountant, it ends when it is to end anyhow. Either way what was seen is taken from it, and the
// process has to end soon: that frees the thread that hangs, and with it whoever it holds.

// ErrHung is part of the error of [Sampler.Run] when a read does not come back. What was seen is then in the Builder,
// unless [ErrNotBooked] is part of it too.
var ErrHung = look.ErrHung

// ErrNotBooked says that the Builder is in the hands of what hangs, and must not be touched. The last checkpoint
// stands.
var ErrNotBooked = errors.New("the recording so far could not be taken over; the last checkpoint stands")

// watchEvery is how often it is looked whether anything hangs.
const watchEvery = 500 * time.Millisecond

// Whose the recording is: the accountant gives it out of its hands while it reads the target.
const (
	ownBooks  int32 = iota // it books
	lentBooks              // it reads
	lostBooks              // somebody else has taken the books over
)

// books tells whose they are.
type books struct{ state atomic.Int32 }

// lend is called by the accountant before it reads memory or files of the target.
func (b *books) lend() { b.state.Store(lentBooks) }

// back is called when it has: it does not return if the books are somebody else's by now.
func (b *books) back() {
	if !b.state.CompareAndSwap(lentBooks, ownBooks) {
		select {}
	}
}

// seize takes the books from an accountant that reads.
func (b *books) seize() bool { return b.state.CompareAndSwap(lentBooks, lostBooks) }

// waitFor waits until the tracer and the accountant have ended; the error says what hangs of them.
func (s *Sampler) waitFor(ctx context.Context, traced, accounted chan struct{}) error {
	var stalls look.Stalls
	defer stalls.Close()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-accounted: // which ends after the tracer
			return nil
		case <-tick.C:
		}
		tracer := int(s.tracer.Load())
		if what := stalls.Tracer(tracer); what != "" && !closed(traced) {
			return s.hangs(what, accounted)
		}
		if ctx.Err() == nil {
			continue
		}
		if what := stalls.Reader(tracer); what != "" {
			return s.hangs(what, accounted)
		}
	}
}

// hangs takes the books, and makes the error of what hangs.
func (s *Sampler) hangs(what string, accounted chan struct{}) error {
	close(s.orphaned)
	if err := s.takeBooks(accounted); err != nil {
		return fmt.Errorf("%w; %w", look.Hung(what), err)
	}
	return look.Hung(what)
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// takeOver bounds how long the accountant may take to book what has come in, once the tracer hangs.
const takeOver = 5 * time.Second

// takeBooks waits until the accountant has booked what came in, or, if it hangs, takes the books from it.
func (s *Sampler) takeBooks(accounted chan struct{}) error {
	select {
	case <-accounted:
		return nil
	case <-time.After(takeOver):
	}
	if !s.unwind.books.seize() {
		return ErrNotBooked
	}
	s.acc.closeAccounts(procmem.Now())
	return nil
}

// orphan books what the tracer has handed over, and what is open, when it does not come back.
func (s *Sampler) orphan(a *accountant) {
	for {
		select {
		case b, ok := <-s.ring.full:
			if !ok {
				return
			}
			s.book(a, b)
		default:
			return
		}
	}
}

// failure keeps the first panic of the sampler's goroutines, as an error. Any
// goroutine may use it.
type failure struct {
	mu  sync.Mutex
	err error
}

// guard, deferred, ends a panic of the calling goroutine: it keeps it as an error
// and calls stop, if that is not nil.
func (f *failure) guard(stop func()) {
	r := recover()
	if r == nil {
		return
	}
	f.mu.Lock()
	if f.err == nil {
		f.err = fmt.Errorf("internal error: %v%s; what was seen until then is in the recording; please report this line",
			r, origin())
	}
	f.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// get gives the error.
func (f *failure) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// origin tells where the panic that is being recovered from began: the innermost
// place in this program, in one line.
func origin() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.HasPrefix(f.Function, "prywalk") {
			return fmt.Sprintf(" at %s:%d", filepath.Base(f.File), f.Line)
		}
	}
	return ""
}
