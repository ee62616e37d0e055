// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"prywalk/internal/host/selfhang"
)

// # Hangs
//
// A read of target memory or files can block for ever ([selfhang.Stalls]). If the tracer hangs, a target may be
// stopped, so the recording ends at once; a hanging aggregator ends on request. The process must exit soon.

// ErrHung is wrapped by [Sampler.Run]'s error if a read does not return.
var ErrHung = selfhang.Err

// ErrBuilderInUse means that the hanging part uses the Builder, which then must not be read. A checkpoint stays valid.
var ErrBuilderInUse = errors.New("the recording so far could not be taken over")

const hangCheckInterval = 500 * time.Millisecond

func (s *Sampler) waitFor(ctx context.Context, tracerDone, aggregatorDone chan struct{}) error {
	var stalls selfhang.Stalls
	defer stalls.Close()
	deadman := selfhang.NewDeadman()
	defer deadman.Close()
	tick := time.NewTicker(hangCheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-aggregatorDone:
			return nil
		case <-tick.C:
			deadman.Reset()
		}
		tracer := s.control.Thread()
		if what := stalls.HungTracer(tracer); what != "" && !isClosed(tracerDone) {
			return s.takeOverFromHung(what, aggregatorDone)
		}
		if ctx.Err() == nil {
			continue
		}
		if what := stalls.HungReader(tracer); what != "" {
			return s.takeOverFromHung(what, aggregatorDone)
		}
	}
}

func (s *Sampler) takeOverFromHung(what string, aggregatorDone chan struct{}) error {
	close(s.hung)
	s.common.QuotaGate.Open() // the hanging part may have closed it
	if err := s.takeBuilder(aggregatorDone); err != nil {
		return fmt.Errorf("%w; %w", selfhang.Error(what), err)
	}
	return selfhang.Error(what)
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// takeOverTimeout is the aggregator's time for the rest.
const takeOverTimeout = 5 * time.Second

func (s *Sampler) takeBuilder(aggregatorDone chan struct{}) error {
	select {
	case <-aggregatorDone:
		return nil
	case <-time.After(takeOverTimeout):
		return ErrBuilderInUse
	}
}
