// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"prywalk/internal/bench/load"
	"prywalk/internal/bench/tools"
)

// Plan says what to measure.
type Plan struct {
	// Loads are the kinds of work.
	Loads []Load
	// Threads in all, and how many of them work; nil for what suits the load.
	Threads, Running []int
	Freqs            []float64
	Pairs            int
	// Precision, if positive, is how far the ends of the 95 % interval may be from its middle. Pairs are added to
	// prywalk's rows until it is as narrow, for RowLimit at most.
	Precision float64
	RowLimit  time.Duration
	// Window is the length of one window; a pair has two.
	Window time.Duration
	// Settle is how long a tool that was switched on is left alone before the window,
	// and Warm how long it runs before the first pair.
	Settle, Warm time.Duration
	// Peers are the tools to measure besides, where they are installed, with PeerPairs pairs each, where the
	// number of threads is one of PeerThreads or was asked for.
	Peers       []tools.Tool
	PeerPairs   int
	PeerThreads []int
	// Limit, if positive, is the time in which all is to be done: rows get fewer
	// pairs, but at least 3.
	Limit time.Duration
	// Engine is prywalk record's flag of this name.
	Engine string
	// Self is prywalk's own file.
	Self string
}

// Load is a kind of work.
type Load struct {
	Name string
	// Kind is the kind of process, by which tools are chosen.
	Kind string
	// Usual gives the numbers of threads, and of those that work, that suit it.
	Usual func() (threads, running []int)
	// Depths are the numbers of frames below the work, nil where that is no matter.
	Depths []int
	// Command makes the command that does the work; it speaks as package load does. dir is for its files. An error
	// that is [ErrAbsent] says that the load cannot be had on this machine.
	Command func(ctx context.Context, dir string, t Target) (*exec.Cmd, error)
	// Warm is how long it is left alone in the beginning.
	Warm time.Duration
	// Latency says of the pairs' waits, as the load's reports have them, how long they were. Nil where the load
	// waits for nothing.
	Latency func([]Waited) *Latency
}

// Target is what a load is asked for.
type Target struct{ Threads, Running, Depth int }

// Waited has the waits of the two windows of a pair.
type Waited struct{ Without, With json.RawMessage }

// Busy is the load of prywalk bench: busy threads among sleepers, by prywalk's own program.
func Busy(self string) Load {
	return Load{
		Name: load.Busy, Kind: tools.Native,
		Usual: func() (threads, running []int) {
			return []int{1, 2, 10, 100, 500, 1000, 2000, 5000}, []int{Spare(), runtime.NumCPU()}
		},
		Command: func(ctx context.Context, _ string, t Target) (*exec.Cmd, error) {
			return exec.CommandContext(ctx, self, "bench-workload", "--running", strconv.Itoa(t.Running), "--sleeping",
				strconv.Itoa(t.Threads-t.Running)), nil
		},
	}
}

// Quick is a plan that takes less than 50 s. self is prywalk's own file.
func Quick(self string) Plan {
	return Plan{
		Self: self, Loads: []Load{Busy(self)}, Threads: []int{2, 100, 1000}, Running: []int{Spare()},
		Freqs: []float64{100, 1000},
		Pairs: 7, Window: 300 * time.Millisecond, Settle: 100 * time.Millisecond, Warm: 300 * time.Millisecond,
		PeerPairs: 3, PeerThreads: []int{100}, Limit: 36 * time.Second,
	}
}

// Full is the plan behind the figures in the documents: with a processor to spare,
// and with every processor busy.
func Full(self string) Plan {
	return Plan{
		Self: self, Loads: []Load{Busy(self)}, Freqs: []float64{100, 1000},
		Pairs: 21, Window: 600 * time.Millisecond, Settle: 150 * time.Millisecond, Warm: time.Second,
		Precision: 0.01, RowLimit: 3 * time.Minute,
		PeerPairs: 9, PeerThreads: []int{2, 100, 1000, 5000},
	}
}

// Spare is the number of threads that compute when a processor is to be left free.
func Spare() int { return max(1, runtime.NumCPU()-1) }

// cell is one target of a load.
type cell struct {
	*Load
	Target
}

// cells lists the targets of a plan.
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
