// SPDX-License-Identifier: Apache-2.0

package perfevents

import "math"

// # Lost samples of the targets
//
// A record of lost samples names no process. The targets' share is assumed to be that of the ring's latest shareOf to
// 2·shareOf samples.

const shareOf = 256

// share counts the latest samples of a ring: all, and those of the targets.
type share struct{ all, targets float64 }

func (s *share) sampled(target bool) {
	if s.all++; target {
		s.targets++
	}
	if s.all >= 2*shareOf {
		s.all, s.targets = s.all/2, s.targets/2
	}
}

// missed counts lost samples: the targets' part, and those of rings with unknown share.
type missed struct {
	targets float64
	unknown int64
}

func (m *missed) add(s *share, lost int64) {
	if s.all == 0 {
		m.unknown += lost
		return
	}
	m.targets += float64(lost) * s.targets / s.all
}

// SetTargets selects the processes of LostOfTargets; nil: all.
func (r *Reader) SetTargets(pid func(pid int) bool) { r.isTarget = pid }

// LostOfTargets estimates the lost samples of the targets.
func (r *Reader) LostOfTargets() int64 {
	known := r.lost - r.missed.unknown
	if known == 0 {
		return r.lost
	}
	return int64(math.Round(r.missed.targets / float64(known) * float64(r.lost)))
}
