// SPDX-License-Identifier: Apache-2.0

package perfevents

import "math"

// # Whose samples were lost
//
// A ring has the samples of all who run on its processor, and those that find no room have no names. What came of the
// same ring lately says how many of them were of the targets: as large a share as of those.

// shareOf is of how many samples a share is, at least, once so many have come. It is of less than twice as many.
const shareOf = 256

// share is how many of the last samples of a ring were of targets.
type share struct{ all, own float64 }

// sampled takes note of a sample.
func (s *share) sampled(own bool) {
	if s.all++; own {
		s.own++
	}
	if s.all >= 2*shareOf {
		s.all, s.own = s.all/2, s.own/2
	}
}

// missed estimates how many samples of the targets were lost.
type missed struct {
	own     float64
	unknown int64 // of rings that had no sample before
}

// lose takes note of a loss.
func (m *missed) lose(s *share, lost int64) {
	if s.all == 0 {
		m.unknown += lost
		return
	}
	m.own += float64(lost) * s.own / s.all
}

// Targets says whose samples LostOfTargets is about. nil: everybody's.
func (r *Reader) Targets(pid func(pid int) bool) { r.target = pid }

// LostOfTargets estimates how many of the records that found no room were samples of the targets. It is between 0 and
// Lost.
func (r *Reader) LostOfTargets() int64 {
	known := r.lost - r.missed.unknown
	if known == 0 {
		return r.lost // nothing tells whose they were
	}
	return int64(math.Round(r.missed.own / float64(known) * float64(r.lost)))
}
