// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"context"
	"runtime"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/sampler"
	"prywalk/internal/watch/target"
)

const (
	freq    = 100
	settled = 3 * time.Second
	window  = time.Second
)

type session struct {
	sampler *sampler.Sampler
	stop    func() error
}

func sample(c *crowd) (*session, error) {
	images := loadedcode.NewImageCache(0)
	t, err := images.Open(c.pid)
	if err != nil {
		images.Close()
		return nil, err
	}
	b := profile.NewBuilder(profile.Meta{Start: time.Now(), Period: time.Second / freq, Aggregate: true})
	s := sampler.New(target.SamplingOptions{Freq: freq}, b, images, []*loadedcode.Process{t})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := s.Run(ctx)
		done <- err
	}()
	return &session{s, func() error {
		cancel()
		err := <-done
		_ = s.Close()
		_ = images.Close()
		return err
	}}, nil
}

// ticks measures one window. A tick here is 1/freq of the window: some work is per time, and missed ticks would make it
// more for the others.
func (s *session) ticks() values {
	before, p, began := readCalls(), s.sampler.Progress(), time.Now()
	time.Sleep(window)
	after, q, n := readCalls(), s.sampler.Progress(), time.Since(began).Seconds()*freq
	return values{
		"stops": float64(q.Tracer.Stops-p.Tracer.Stops) / n, "calls": (after.calls - before.calls) / n,
		"bytes": (after.copied - before.copied) / n,
	}
}

// allocations returns objects per tick. The Go runtime counts them with the world stopped, so the tracer is held.
func (s *session) allocations() values {
	before, began := s.mallocs(), time.Now()
	time.Sleep(settled)
	n := time.Since(began).Seconds() * freq
	return values{"allocations": (s.mallocs() - before) / n}
}

func (s *session) mallocs() float64 {
	s.sampler.Hold()
	for !s.sampler.Held() {
		time.Sleep(time.Millisecond)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.sampler.Resume()
	return float64(m.Mallocs)
}
