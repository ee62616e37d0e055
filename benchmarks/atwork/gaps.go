// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// A thread of real-time priority reads its clock on each processor. A jump is a gap: the machine took the processor.
const (
	gapPriority = 5
	gapTurn     = 4 * time.Millisecond
)

type gaps struct {
	lengths []int64
	watched int64
}

func (g *gaps) see(before, now int64) {
	if d := now - before; float64(d) > longUS*1e3 {
		g.lengths = append(g.lengths, d)
	}
	g.watched += now - before
}

func (g *gaps) add(other *gaps) {
	g.lengths = append(g.lengths, other.lengths...)
	g.watched += other.watched
}

func (g *gaps) String() string {
	if g.watched == 0 {
		return "no processor could be watched"
	}
	slices.Sort(g.lengths)
	var sum, longest int64
	for _, d := range g.lengths {
		sum, longest = sum+d, d
	}
	rate := float64(len(g.lengths)) / (float64(g.watched) / 1e9)
	const stop, threads = 70e-6, 2 // s; the tracer's processor and the target's
	return fmt.Sprintf("A thread of real-time priority that only reads its clock stands still for over %.0f µs %.1f "+
		"times a second (%.2f %% of "+
		"its time, %.1f ms at most; %.0f s watched): a stop of 70 µs on two such processors meets that with %.2f %%.",
		longUS, rate, 100*float64(sum)/float64(g.watched), float64(longest)/1e6, float64(g.watched)/1e9,
		100*rate*stop*threads)
}

func watchGaps(d time.Duration) *gaps {
	var all gaps
	var mu sync.Mutex
	var done sync.WaitGroup
	for cpu := range runtime.NumCPU() {
		done.Go(func() {
			runtime.LockOSThread() // the thread, which has its own priority, ends with the goroutine
			var set unix.CPUSet
			set.Set(cpu)
			fifo := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Flags: unix.SCHED_FLAG_RESET_ON_FORK,
				Priority: gapPriority}
			if unix.SchedSetaffinity(0, &set) != nil || unix.SchedSetAttr(0, &fifo, 0) != nil {
				return
			}
			var g gaps
			for end := procmem.Now() + int64(d); procmem.Now() < end; time.Sleep(gapTurn) {
				last := procmem.Now()
				for turn := last + int64(gapTurn); last < turn; {
					now := procmem.Now()
					g.see(last, now)
					last = now
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all.add(&g)
		})
	}
	done.Wait()
	return &all
}

func (s *runStats) lateStops() string {
	if s.LateStops.N == 0 {
		return ""
	}
	return fmt.Sprintf("%d, %.1f ms", s.LateStops.N, s.LateStops.MaxUS/1e3)
}
