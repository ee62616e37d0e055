// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"runtime"
	"slices"
	"time"

	"prywalk/internal/bench/load"
	"prywalk/internal/bench/tools"
)

// Plan says what to measure.
type Plan struct {
	// Loads are kinds of work: those of package load, and tools.Python and tools.JVM.
	Loads []string
	// Threads in all, and how many of them work; nil for what suits the load.
	Threads, Running []int
	// Depths are the numbers of frames for the load that is deep.
	Depths []int
	Freqs  []float64
	Pairs  int
	// Precision, if positive, is how far the ends of the 95 % interval may be from its middle. Pairs are added to
	// prywalk's rows until it is as narrow, for RowLimit at most.
	Precision float64
	RowLimit  time.Duration
	// Window is the length of one window; a pair has two.
	Window time.Duration
	// Settle is how long a tool that was switched on is left alone before the window,
	// and Warm how long it runs before the first pair.
	Settle, Warm time.Duration
	// Peers adds the tools that are installed, with PeerPairs pairs each, where the
	// number of threads is one of PeerThreads or was asked for.
	Peers       bool
	PeerPairs   int
	PeerThreads []int
	// Limit, if positive, is the time in which all is to be done: rows get fewer
	// pairs, but at least 3.
	Limit time.Duration
	// Engine is prywalk record's flag of this name.
	Engine string
	// Self is prywalk's own file, "" for the program that runs.
	Self string
}

// Quick is a plan that takes less than 50 s.
func Quick() Plan {
	return Plan{
		Loads: []string{load.Busy}, Threads: []int{2, 100, 1000}, Running: []int{spare()}, Depths: []int{1000},
		Freqs: []float64{100, 1000},
		Pairs: 7, Window: 300 * time.Millisecond, Settle: 100 * time.Millisecond, Warm: 300 * time.Millisecond,
		PeerPairs: 3, PeerThreads: []int{100}, Limit: 36 * time.Second,
	}
}

// Full is the plan behind the figures in the documents: with a processor to spare,
// and with every processor busy.
func Full() Plan {
	return Plan{
		Loads: []string{load.Busy}, Depths: []int{10, 100, 1000, 10000}, Freqs: []float64{100, 1000},
		Pairs: 21, Window: 600 * time.Millisecond, Settle: 150 * time.Millisecond, Warm: time.Second,
		Precision: 0.01, RowLimit: 3 * time.Minute,
		PeerPairs: 9, PeerThreads: []int{2, 100, 1000, 5000},
	}
}

// Loads lists all kinds of work, those that need an interpreter or a compiler last.
func Loads() []string {
	return slices.Concat(load.Kinds(), load.Servers(), []string{CLoad, tools.Python, tools.JVM})
}

// CLoad is the kind of work that is compiled with cc: busy threads below 20 calls,
// without frame pointers.
const CLoad = "c"

// spare is the number of threads that compute when a processor is to be left free.
func spare() int { return max(1, runtime.NumCPU()-1) }

// usual are the numbers of threads, and of those that work, that suit a load.
func usual(kind string) (threads, running []int) {
	all := runtime.NumCPU()
	switch kind {
	case load.Wake:
		return []int{100, 1000}, []int{10, 50}
	case load.Deep:
		return []int{4}, []int{spare()}
	case load.Locks:
		return []int{10, 1000}, []int{4 * all}
	case load.Requests:
		return []int{10, 1000, 5000}, []int{1, 2 * all}
	case load.Goroutines:
		return []int{100, 10000}, []int{all}
	case load.GoServer:
		return []int{100, 5000}, []int{4 * all}
	case load.Redis: // one of its threads does the work
		return []int{1}, []int{1}
	case load.Postgres: // a process for each client
		return []int{8}, []int{8}
	case CLoad:
		return []int{2, 100, 1000, 5000}, []int{spare(), all}
	case tools.Python:
		return []int{2, 100}, []int{1}
	case tools.JVM:
		return []int{2, 100, 1000}, []int{spare()}
	}
	return []int{1, 2, 10, 100, 500, 1000, 2000, 5000}, []int{spare(), all}
}

// cell is one target.
type cell struct {
	load                    string
	threads, running, depth int
}

// cells lists the targets of a plan.
func (p *Plan) cells() []cell {
	var out []cell
	seen := map[cell]bool{}
	for _, kind := range p.Loads {
		threads, running := usual(kind)
		if p.Threads != nil {
			threads = p.Threads
		}
		if p.Running != nil {
			running = p.Running
		}
		depths := []int{0}
		if kind == load.Deep {
			depths = p.Depths
		}
		for _, r := range running {
			for _, n := range threads {
				for _, d := range depths {
					if c := (cell{kind, n, min(r, n), d}); !seen[c] {
						seen[c] = true
						out = append(out, c)
					}
				}
			}
		}
	}
	return out
}

// kind gives the kind of process that a load is.
func kind(name string) string {
	switch name {
	case tools.Python, tools.JVM:
		return name
	case load.Postgres:
		return tools.Several
	}
	return tools.Native
}
