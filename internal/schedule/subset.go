// SPDX-License-Identifier: Apache-2.0

package schedule

import "math/rand/v2"

// Subset draws the threads of a tick, with equal chance. The zero value draws all.
type Subset struct {
	NotDrawn int64

	maxDrawn          int // 0: no limit
	rng               *rand.Rand
	undecided, toDraw int // threads of this tick
}

// NewSubset takes the most threads of a tick; 0: no limit.
func NewSubset(limit int, seed uint64) Subset {
	return Subset{maxDrawn: limit, rng: rand.New(rand.NewPCG(seed, 0x7375_6273))}
}

// Begin begins a tick with due threads, of which the budget admits limit. An observation then stands for duePerDrawn
// times the time.
func (s *Subset) Begin(due, limit int) (duePerDrawn float64) {
	s.undecided, s.toDraw = due, min(due, limit)
	if s.maxDrawn > 0 {
		s.toDraw = min(s.toDraw, s.maxDrawn)
	}
	if s.toDraw == s.undecided {
		return 1
	}
	s.NotDrawn += int64(s.undecided - s.toDraw)
	return float64(s.undecided) / float64(s.toDraw)
}

// Draw reports whether the next due thread is drawn.
func (s *Subset) Draw() bool {
	if s.toDraw < s.undecided && s.rng.IntN(s.undecided) >= s.toDraw {
		s.undecided--
		return false
	}
	s.undecided, s.toDraw = max(s.undecided-1, 0), max(s.toDraw-1, 0)
	return true
}

// Limited reports whether a tick draws a limited number of threads.
func (s *Subset) Limited() bool { return s.maxDrawn > 0 }
