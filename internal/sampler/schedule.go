package sampler

import "math/rand/v2"

// schedule gives the moments of the ticks: absolute, so that a late tick does not
// shift those after it, and each displaced at random within a quarter of the
// period to both sides, so that ticks do not beat with periodic work in the target.
// Times are CLOCK_MONOTONIC in nanoseconds.
type schedule struct {
	period int64
	start  int64
	n      int64 // ticks given out or missed
	missed int64
	rng    *rand.Rand
}

func newSchedule(start int64, freq float64) *schedule {
	return &schedule{
		period: int64(1e9 / freq),
		start:  start,
		rng:    rand.New(rand.NewPCG(uint64(start), 0x7072_7977)),
	}
}

// next gives the moment of the next tick. Ticks whose whole period has passed are
// counted as missed and left out.
func (s *schedule) next(now int64) int64 {
	if late := (now-s.start)/s.period - s.n; late > 1 {
		s.missed += late - 1
		s.n += late - 1
	}
	s.n++
	return s.start + s.n*s.period + s.rng.Int64N(s.period/2+1) - s.period/4
}

// setRate changes the frequency from now on.
func (s *schedule) setRate(now int64, freq float64) {
	if period := int64(1e9 / freq); period != s.period {
		s.period, s.start, s.n = period, now, 0
	}
}
