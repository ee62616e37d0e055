// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"math"

	"prywalk/internal/procmem"
)

// StackLength decides how many bytes of a stack the kernel copies. Copies become shorter once many walks have used
// less, and longest again once a walk needed more; each time, the wait doubles.
type StackLength struct {
	begun, least      int64 // CLOCK_MONOTONIC ns; duration, ns
	samples, complete int64 // complete: with all bytes asked for
	Deepest           int64 // most bytes used by a walk
}

const (
	// A decision needs at least fitSamples samples in at least fitAfter ns.
	fitSamples  = 256
	fitAfter    = 1e9
	maxFitAfter = 1 << 10 * fitAfter // ns
	// Copies become shorter if at least 1/completeShare of the samples got all bytes asked for.
	completeShare = 8
)

func (l *StackLength) begin(now int64) { *l = StackLength{begun: now, least: max(l.least, fitAfter)} }

// CountSample counts a sample of the targets.
func (l *StackLength) CountSample(r *Record) {
	if l.samples++; len(r.Stack) == r.Asked {
		l.complete++
	}
}

// decide returns the bytes to copy from now (CLOCK_MONOTONIC ns) on; shorter is the present number; 0 in both: the
// most. fit is [Reader.shortestCopyFor].
func (l *StackLength) decide(now int64, shorter int, fit func(int) int) int {
	switch {
	case l.begun == 0:
		l.begin(now)
	case shorter != 0 && l.Deepest > int64(shorter)*7/8:
		l.least = min(2*l.least, maxFitAfter)
		l.begin(now)
		return 0
	case shorter == 0 && now-l.begun >= l.least && l.samples >= fitSamples:
		n := 0
		if l.complete*completeShare >= l.samples && l.Deepest > 0 {
			n = fit(2 * int(l.Deepest))
		}
		l.begin(now)
		return n
	}
	return shorter
}

// AdaptCopyLength sets the copied length. Preconditions: not PerThread; Deepest covers all sampled processes.
func (r *Reader) AdaptCopyLength(l *StackLength, now int64) {
	if !r.setCopyLength(l.decide(now, r.copyLength, r.shortestCopyFor)) {
		l.begun = math.MaxInt64
	}
}

// CopyLongest makes the kernel copy the most.
func (r *Reader) CopyLongest(l *StackLength) {
	if r.copyLength != 0 {
		r.setCopyLength(0)
		l.begin(procmem.Now())
	}
}
