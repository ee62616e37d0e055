// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"iter"
	"sync"
	"testing"
	"time"

	"prywalk/internal/store/profile"
	"prywalk/internal/watch/target"
)

type watched struct {
	mu        sync.Mutex
	refreshes int
	wall, cpu int64
	open      map[int]time.Duration // by thread at the last refresh
}

func (w *watched) Add(iv profile.Interval) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wall, w.cpu = w.wall+iv.Wall, w.cpu+iv.CPU
}

func (w *watched) Refresh(_ int64, open iter.Seq[profile.Interval]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refreshes++
	w.open = map[int]time.Duration{}
	for iv := range open {
		w.open[iv.TID] += time.Duration(iv.Wall)
	}
}

func (w *watched) told(long time.Duration) (refreshes, threads int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wall := range w.open {
		if wall >= long {
			threads++
		}
	}
	return w.refreshes, threads
}

func TestSleepersAreWatchedWhileTheySleep(t *testing.T) {
	program := start(t, "sleepers", "30")
	allAsleep(t, program.pid)
	w := &watched{}
	o := target.SamplingOptions{Sinks: []profile.Sink{w}, WatchEvery: 20 * time.Millisecond}
	r := record(t, o, 100*time.Millisecond, func(*Sampler) {
		await(t, "five refreshes, and 31 threads that have slept for 200 ms", func() bool {
			n, long := w.told(200 * time.Millisecond)
			return n >= 5 && long == 31
		})
	}, program.pid)
	if len(r.Sample) > 2*31 {
		t.Errorf("%d intervals", len(r.Sample))
	}
	if r.Stops != 0 {
		t.Errorf("%d stops", r.Stops)
	}
	var wall, cpu int64
	for _, s := range r.Sample {
		wall, cpu = wall+s.Value[1], cpu+s.Value[3]
	}
	if w.wall != wall || w.cpu != cpu {
		t.Errorf("the watcher got %d and %d ns, the recording %d and %d", w.wall, w.cpu, wall, cpu)
	}
}
