// SPDX-License-Identifier: Apache-2.0

package perfevents

import "math"

// # Lost samples of the targets
//
// A record of lost samples names no process. The targets' share is assumed to be that of the ring's latest shareWindow
// to 2·shareWindow samples.

const shareWindow = 256

type targetShare struct{ all, targets float64 }

func (s *targetShare) count(target bool) {
	if s.all++; target {
		s.targets++
	}
	if s.all >= 2*shareWindow {
		s.all, s.targets = s.all/2, s.targets/2
	}
}

type lostSamples struct {
	targets float64
	unknown int64
}

func (l *lostSamples) add(s *targetShare, lost int64) {
	if s.all == 0 {
		l.unknown += lost
		return
	}
	l.targets += float64(lost) * s.targets / s.all
}

// SetTargets selects the processes of LostOfTargets; nil: all.
func (r *Reader) SetTargets(isTarget func(pid int) bool) { r.isTarget = isTarget }

// LostOfTargets estimates the lost samples of the targets.
func (r *Reader) LostOfTargets() int64 {
	known := r.lost - r.missed.unknown
	if known == 0 {
		return r.lost
	}
	return int64(math.Round(r.missed.targets / float64(known) * float64(r.lost)))
}
