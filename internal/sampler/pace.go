package sampler

// stopCost is what a stop costs a running thread besides the time that it is
// stopped, in nanoseconds: cold caches, the way into and out of the kernel.
const stopCost = 10e3

// pace keeps the sampling within what the user allows targets to lose.
type pace struct {
	freq        float64
	maxOverhead float64
	mean        float64 // of the freezes' lengths lately, ns
}

func newPace(o *Options) pace {
	return pace{freq: o.Freq, maxOverhead: o.MaxOverhead}
}

// froze takes note of a freeze's length.
func (p *pace) froze(ns int64) {
	if p.mean == 0 {
		p.mean = float64(ns)
	}
	p.mean += (float64(ns) - p.mean) / 32
}

// rate gives the frequency that keeps the loss of a thread that runs all the time
// below the limit.
func (p *pace) rate() float64 {
	if p.maxOverhead <= 0 || p.mean == 0 {
		return p.freq
	}
	return max(min(p.freq, p.maxOverhead*1e9/(p.mean+stopCost)), 0.1)
}
