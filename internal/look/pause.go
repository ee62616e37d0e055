package look

import (
	"time"
)

const (
	// firstPause is how long a freeze is expected to take before any was made, in
	// nanoseconds: the usual one.
	firstPause = 30e3
	// leastPause is the shortest freeze there is, in nanoseconds: seizing,
	// interrupting and letting go alone take longer. No expectation falls below
	// it, so that a limit below it allows no freeze at all.
	leastPause = 10e3
	// pauseFades: an expectation that keeps a thread from being frozen falls by
	// 1/pauseFades each time, so that the thread is tried again some day.
	pauseFades = 256
)

// pauseLimit keeps freezes within what the user allows. What a freeze of a thread
// is expected to take comes from its own freezes; before the first, from those of
// other threads, and before any, from firstPause.
type pauseLimit struct {
	limit int64 // ns; 0: none
	usual int64 // of all freezes lately, ns; 0: none yet
}

// LimitPause makes the looker leave out freezes that are expected to take longer
// than d ([refusal.MaxPause]); 0 for no limit. Peeks and reuse go on.
func (l *Looker) LimitPause(d time.Duration) { l.pause.limit = int64(d) }

// allows reports whether a freeze of a thread may be begun.
func (p *pauseLimit) allows(t *Thread) bool {
	if p.limit <= 0 {
		return true
	}
	if t.pause == 0 {
		t.pause = p.usual
		if p.usual == 0 {
			t.pause = firstPause
		}
	}
	if t.pause <= p.limit {
		return true
	}
	t.pause = max(t.pause-t.pause/pauseFades-1, leastPause)
	return false
}

// froze takes note of a freeze's length.
func (p *pauseLimit) froze(t *Thread, ns int64) {
	t.pause = lately(t.pause, ns)
	p.usual = lately(p.usual, ns)
}

// lately is a mean in which what is long past counts less and less.
func lately(mean, ns int64) int64 {
	if mean == 0 {
		return max(ns, leastPause)
	}
	return max(mean+(ns-mean)/8, leastPause)
}
