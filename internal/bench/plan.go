package bench

import (
	"runtime"
	"time"

	"prywalk/internal/census"
)

// Plan says what to measure.
type Plan struct {
	Threads []int
	Freqs   []float64
	// Running is how many of the threads compute.
	Running []int
	Pairs   int
	// Window is the length of one window; a pair has two.
	Window time.Duration
	// Peers adds the tools that are installed.
	Peers bool
	// Census, if set, is how the sampler counts threads; see [sampler.Options].
	Census *census.Census
}

// Quick is a plan that takes less than 50 s.
func Quick() Plan {
	return Plan{
		Threads: []int{2, 100, 1000}, Freqs: []float64{100, 1000}, Running: []int{max(1, runtime.NumCPU()-1)},
		Pairs: 7, Window: 300 * time.Millisecond,
	}
}

// Full is the plan behind the figures in the documents: with a processor to spare,
// and with every processor busy.
func Full() Plan {
	return Plan{
		Threads: []int{1, 2, 10, 100, 500, 1000, 2000, 5000}, Freqs: []float64{100, 1000},
		Running: []int{max(1, runtime.NumCPU()-1), runtime.NumCPU()},
		Pairs:   21, Window: 600 * time.Millisecond,
	}
}

// settle is how long a window waits after sampling has begun, so that the first
// looks, which read files and mappings, are not measured.
const settle = 100 * time.Millisecond
