// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math"
	"slices"
	"strconv"
	"syscall"
	"time"

	"prywalk/benchmarks/recordings"
	"prywalk/internal/testtargets"
)

var named = []struct {
	target, what string
	freq         int
	length       time.Duration
}{
	{"cpp", "C++", 4000, 3 * time.Second},
	{"rust", "Rust", 4000, 3 * time.Second},
	{"node", "Node", 4000, 3 * time.Second},
	{"java", "JVM", 4000, 3 * time.Second},
	{browserName, "Chromium, all processes", 1000, 3 * time.Second},
}

func (b *bench) naming(ctx context.Context) []timing {
	var all []timing
	for _, n := range named {
		t := timing{What: n.what, Samples: math.MaxInt64, Intervals: math.MaxInt}
		pids, stop, err := b.namingTarget(ctx, n.target)
		if err == nil {
			for range max(5, b.Runs/2) {
				if err = b.nameOnce(ctx, &t, pids(), n.freq, n.length); err != nil {
					break
				}
			}
			stop()
		}
		if err != nil {
			t.Error, t.Samples, t.Intervals = err.Error(), 0, 0
		}
		slices.Sort(t.Seconds)
		all = append(all, t)
	}
	return all
}

func (b *bench) namingTarget(ctx context.Context, name string) (pids func() []int, stop func(), err error) {
	if name == browserName {
		c, err := startChromium(ctx, b.dir)
		if err != nil {
			return nil, nil, err
		}
		return c.pids, c.stop, nil
	}
	t, err := testtargets.Start(name, testtargets.Options{Limit: measureLimit})
	if err != nil {
		return nil, nil, err
	}
	return t.PIDs, t.Stop, nil
}

func (b *bench) nameOnce(ctx context.Context, t *timing, pids []int, freq int, length time.Duration) error {
	c, err := b.startRecord(ctx, pids, "-F", strconv.Itoa(freq))
	if err != nil {
		return err
	}
	pause(ctx, length)
	ended := time.Now()
	if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	if err := c.wait(); err != nil {
		return err
	}
	t.Seconds = append(t.Seconds, time.Since(ended).Seconds())
	r, err := c.read()
	if err != nil {
		return err
	}
	defer r.remove()
	t.Samples = min(t.Samples, r.total(recordings.SamplesColumn))
	t.Intervals = min(t.Intervals, len(r.Sample))
	t.Locations = max(t.Locations, len(r.Location))
	return nil
}
