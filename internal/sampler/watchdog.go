// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"context"
	"errors"
	"fmt"
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
		tracer := s.control.Thread()
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
	s.shared.Turn.Give() // who hangs may have taken it
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
	if !s.acc.Seize() {
		return ErrNotBooked
	}
	s.acc.CloseAccounts(procmem.Now())
	return nil
}
