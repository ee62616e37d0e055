// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"math"
	"math/rand/v2"
)

// # A random subset
//
// A tick that looks at everybody who is due takes the longer the more there are. A user may say at how many a tick
// looks at most (--subset), and the budget may ([Budget.Part]). Then they are drawn anew at each tick, all with the
// same chance, whatever they do and however often they were drawn before. So a look stands for as many times as much
// time as there were due for each that was drawn. What a thread has used in all is its own clock's to tell, drawn or
// not.

// Subset draws who is looked at in a tick. The zero value draws everybody.
type Subset struct {
	// NotDrawn counts those that were due and were not drawn.
	NotDrawn int64

	most      int // in a tick; 0: any number
	rng       *rand.Rand
	due, need int // of this tick: who is still to be asked for, and how many of these are drawn
}

// NewSubset makes one that draws at most so many in a tick, 0 for any number.
func NewSubset(most int, seed uint64) Subset {
	return Subset{most: most, rng: rand.New(rand.NewPCG(seed, 0x7375_6273))}
}

// Begin begins a tick in which so many are due, of whom the budget allows a part, 0 to 1. It gives for how many of
// these each stands that is drawn: 1 if all are. It is at least one who is drawn.
func (s *Subset) Begin(due int, part float64) (weight float64) {
	s.due, s.need = due, due
	if part < 1 {
		s.need = min(s.need, max(int(math.Ceil(part*float64(due))), 1))
	}
	if s.most > 0 {
		s.need = min(s.need, s.most)
	}
	if s.need == s.due {
		return 1
	}
	s.NotDrawn += int64(s.due - s.need)
	return float64(s.due) / float64(s.need)
}

// Draw reports whether the next one of those that are due is drawn. So many of them are as [Subset.Begin] has said, and
// each has the same chance, in whatever order they come.
func (s *Subset) Draw() bool {
	if s.need < s.due && s.rng.IntN(s.due) >= s.need {
		s.due--
		return false
	}
	s.due, s.need = max(s.due-1, 0), max(s.need-1, 0)
	return true
}

// Bounded reports whether a tick may look at fewer than are due: by the user's word, or the budget's.
func (s *Subset) Bounded(part float64) bool { return s.most > 0 || part < 1 }
