// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"math"

	"prywalk/internal/procmem"
)

// Length decides how many bytes of a stack the kernel copies. Copies become shorter once many walks have used
// less, if enough samples got all bytes asked for (were not cut by the end of the mapped stack). They become
// longest again once a walk needed more; each time, the wait until the next try doubles.
type Length struct {
	since, after int64 // begin of the counts, CLOCK_MONOTONIC ns; their least duration, ns
	all, unended int64 // samples; those with all bytes asked for
	Deepest      int64 // most bytes used by a walk
}

const (
	// A decision needs at least fitSamples samples in at least fitAfter ns.
	fitSamples   = 256
	fitAfter     = 1e9
	mostFitAfter = 1 << 10 * fitAfter // bound of the doubled time, ns
	// Copies become shorter if at least 1/unendedShare of the samples got all bytes asked for.
	unendedShare = 8
)

func (l *Length) begin(now int64) { *l = Length{since: now, after: max(l.after, fitAfter)} }

// Sampled counts a sample of the targets.
func (l *Length) Sampled(r *Record) {
	if l.all++; len(r.Stack) == r.Asked {
		l.unended++
	}
}

// decide returns the bytes to copy from now (CLOCK_MONOTONIC ns) on; shorter is the present number; 0 in both: the
// most. fit returns the shortest possible copy of at least so many bytes; 0: none.
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

// FitStack sets the copied length by the counted samples. Preconditions: not PerThread; Deepest covers all sampled
// processes.
func (r *Reader) FitStack(l *Length, now int64) {
	if !r.CopyShorter(l.decide(now, r.shorter, r.LengthFor)) {
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
