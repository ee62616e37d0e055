// SPDX-License-Identifier: Apache-2.0

package perfevents

import "testing"

func TestTargetsShareOfLostSamplesIsThatOfOthers(t *testing.T) {
	const target, other = 7, 8
	r := &Reader{isTarget: func(pid int) bool { return pid == target }}
	busy, quiet := &ring{}, &ring{}
	sampled := func(g *ring, n, oneIn int) {
		for i := range n {
			rec := Record{Kind: Sampled, PID: other}
			if i%oneIn == 0 {
				rec.PID = target
			}
			r.count(g, &rec, func(*Record) {})
		}
	}
	lose := func(g *ring, n int64) { r.count(g, &Record{Kind: lost, Lost: n}, nil) }
	between := func(what string, low, high int64) {
		t.Helper()
		if got := r.LostOfTargets(); got < low || got > high {
			t.Errorf("%s: %d of %d lost samples are of targets, want %d to %d", what, got, r.Lost(), low, high)
		}
	}
	between("no loss", 0, 0)
	sampled(quiet, 1000, 2)
	sampled(busy, 4000, 100)
	lose(busy, 38_000)
	between("one sample in a hundred of that CPU", 300, 460)
	sampled(busy, 4000, 1)
	lose(busy, 1000)
	between("all recent samples", 1290, 1460)

	r.isTarget = nil
	r.missed, r.lost, busy.share = lostSamples{}, 0, targetShare{}
	sampled(busy, 10, 3)
	lose(busy, 40)
	between("all processes are targets", 40, 40)

	r.missed, r.lost, busy.share = lostSamples{}, 0, targetShare{}
	lose(busy, 40)
	between("no samples to estimate from", 40, 40)
}
