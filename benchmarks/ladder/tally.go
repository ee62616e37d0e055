// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"prywalk/internal/host/procmem"
)

type tally struct {
	at                int64 // when the runners were counted, CLOCK_MONOTONIC ns
	runners, sleepers switches
}

func (s *subject) tally() (t tally, err error) {
	if t.runners, err = switchesOf(s.pid, s.runners); err != nil {
		return t, err
	}
	t.at = procmem.Now()
	t.sleepers, err = switchesOf(s.pid, s.sleepers)
	return t, err
}

type span struct {
	seconds           float64
	runners, sleepers switches
}

func (t tally) since(u tally) span {
	return span{float64(t.at-u.at) / 1e9, t.runners.minus(u.runners), t.sleepers.minus(u.sleepers)}
}

func (s span) perSecond(n int64) float64 { return float64(n) / s.seconds }

const firstStopLimit = time.Minute

func (s *subject) sampling(ctx context.Context, since tally, warmup time.Duration) error {
	limit, cancel := context.WithTimeout(ctx, firstStopLimit)
	defer cancel()
	err := poll(limit, func() (bool, error) {
		now, err := switchesOf(s.pid, s.runners)
		return now.Voluntary > since.runners.Voluntary, err
	})
	switch {
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no running thread was stopped within %v", firstStopLimit)
	case err != nil:
		return err
	}
	return pause(ctx, warmup)
}

func (s *subject) spanOf(ctx context.Context, window time.Duration) (span, error) {
	before, err := s.tally()
	if err == nil {
		err = pause(ctx, window)
	}
	if err != nil {
		return span{}, err
	}
	after, err := s.tally()
	return after.since(before), err
}
