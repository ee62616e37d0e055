// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"math"

	"prywalk/internal/procmem"
)

// Length decides how much stack the kernel copies: the most where nothing ends a stack in memory. Copies become shorter
// once many walks have used less, and long again once one was cut; each cut doubles the time until then.
type Length struct {
	since, after int64
	all, unended int64
	Deepest      int64 // most bytes used by a walk
}

const (
	// Counted are fitSamples samples and fitAfter ns.
	fitSamples = 256
	fitAfter   = 1e9
	// mostFitAfter bounds the doubled time, ns.
	mostFitAfter = 1 << 10 * fitAfter
	// unendedShare: shorter copies need one such sample in so many.
	unendedShare = 8
)

func (l *Length) begin(now int64) { *l = Length{since: now, after: max(l.after, fitAfter)} }

// Sampled counts a sample of the targets.
func (l *Length) Sampled(r *Record) {
	if l.all++; len(r.Stack) == r.Asked {
		l.unended++
	}
}

// decide gives the bytes to copy; 0: the most. fit gives the shortest possible copy of at least so many bytes; 0: none.
func (l *Length) decide(now int64, shorter int, fit func(int) int) int {
	switch {
	case l.since == 0:
		l.begin(now)
	case shorter != 0 && l.Deepest > int64(shorter)*7/8:
		l.after = min(2*l.after, mostFitAfter)
		l.begin(now)
		return 0
	case shorter == 0 && now-l.since >= l.after && l.all >= fitSamples:
		n := 0
		if l.unended*unendedShare >= l.all && l.Deepest > 0 {
			n = fit(2 * int(l.Deepest))
		}
		l.begin(now)
		return n
	}
	return shorter
}

// FitStack sets the copied length by the counted samples. Preconditions: not Own, and Deepest is known for all that is
// sampled.
func (r *Reader) FitStack(l *Length, now int64) {
	if !r.CopyShorter(l.decide(now, r.shorter, r.Fit)) {
		l.since = math.MaxInt64
	}
}

// CopyAll makes the kernel copy the most.
func (r *Reader) CopyAll(l *Length) {
	if r.shorter != 0 {
		r.CopyShorter(0)
		l.begin(procmem.Now())
	}
}
