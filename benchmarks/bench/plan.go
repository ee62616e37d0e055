// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"os/exec"
	"runtime"
	"time"

	"prywalk/benchmarks/bench/load"
	"prywalk/benchmarks/bench/tools"
)

// Plan is what to measure.
type Plan struct {
	Loads []Load
	// Threads are numbers of threads, Running of them computing; nil: the load's usual ones.
	Threads, Running []int
	Freqs            []float64
	Pairs            int
	// Precision, if positive, is half the 95 % interval for which prywalk's rows get more pairs, up to RowLimit.
	Precision float64
	RowLimit  time.Duration
	Window    time.Duration // half of a pair
	// Settle is the time between switching on and the window, Warm that before the first pair.
	Settle, Warm time.Duration
	// Peers are used if installed, with PeerPairs pairs each; with the busy load at PeerThreads only.
	Peers       []tools.Tool
	PeerPairs   int
	PeerThreads []int
	// Limit, if positive, bounds the run: rows get fewer pairs, at least 3.
	Limit  time.Duration
	Engine string
	Self   string
}

// Load is a kind of work.
type Load struct {
	Name   string
	Kind   string // of process, to select tools
	Usual  func() (threads, running []int)
	Depths []int // numbers of frames below the work; nil: one
	// Command speaks the protocol of package load. dir is for its files. [ErrAbsent]: not available here.
	Command func(ctx context.Context, dir string, t Target) (*exec.Cmd, error)
	Warm    time.Duration // time after Ready
	// Latency evaluates the waits of pairs; may be nil.
	Latency func([]Waited) *Latency
}

// Target is a load's parameters.
type Target struct{ Threads, Running, Depth int }

// Waited are the waits in a pair's windows.
type Waited struct{ Without, With json.RawMessage }

// Busy is the load of package load.
func Busy() Load {
	return Load{
		Name: load.Busy, Kind: tools.Native,
		Usual: func() (threads, running []int) {
			return []int{1, 2, 10, 100, 500, 1000, 2000, 5000}, []int{SpareCPUs(), runtime.NumCPU()}
		},
		Command: func(ctx context.Context, _ string, t Target) (*exec.Cmd, error) {
			return load.Command(ctx, load.Options{Running: t.Running, Sleeping: t.Threads - t.Running})
		},
	}
}

// Quick takes less than 50 s. self is prywalk's file.
func Quick(self string) Plan {
	return Plan{
		Self: self, Loads: []Load{Busy()}, Threads: []int{2, 100, 1000}, Running: []int{SpareCPUs()},
		Freqs: []float64{100, 1000},
		Pairs: 7, Window: 300 * time.Millisecond, Settle: 100 * time.Millisecond, Warm: 300 * time.Millisecond,
		PeerPairs: 3, PeerThreads: []int{100}, Limit: 36 * time.Second,
	}
}

// Full is the plan of the documents' results, with a spare processor and without.
func Full(self string) Plan {
	return Plan{
		Self: self, Loads: []Load{Busy()}, Freqs: []float64{100, 1000},
		Pairs: 21, Window: 600 * time.Millisecond, Settle: 150 * time.Millisecond, Warm: time.Second,
		Precision: 0.01, RowLimit: 3 * time.Minute,
		PeerPairs: 9, PeerThreads: []int{2, 100, 1000, 5000},
	}
}

// SpareCPUs is the number of computing threads that leaves one processor free.
func SpareCPUs() int { return max(1, runtime.NumCPU()-1) }

type cell struct {
	*Load
	Target
}

func (p *Plan) cells() []cell {
	type place struct {
		load   string
		target Target
	}
	var out []cell
	seen := map[place]bool{}
	for i := range p.Loads {
		l := &p.Loads[i]
		threads, running := l.Usual()
		if p.Threads != nil {
			threads = p.Threads
		}
		if p.Running != nil {
			running = p.Running
		}
		depths := l.Depths
		if depths == nil {
			depths = []int{0}
		}
		for _, r := range running {
			for _, n := range threads {
				for _, d := range depths {
					at := place{l.Name, Target{n, min(r, n), d}}
					if !seen[at] {
						seen[at] = true
						out = append(out, cell{l, at.target})
					}
				}
			}
		}
	}
	return out
}
