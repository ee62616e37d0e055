// SPDX-License-Identifier: Apache-2.0

package copysize

import "prywalk/frames"

// # Threads that the kernel samples

// After a cut sample the thread is stopped until the stops of 0.5 s have found its stack shallow, twice as long each
// time.
const (
	deepSeconds  = 0.5
	minDeepStops = 16
	maxDeepStops = 1 << 16
)

func (learner *depthLearner) setRate(hz float64) {
	learner.shallowFirst = max(int(hz*deepSeconds), minDeepStops)
}

// SampleDepth says whether the kernel's samples of a thread are used.
type SampleDepth struct {
	// TooDeepForSamples: the thread must be stopped.
	TooDeepForSamples bool
}

type depthLearner struct {
	*SampleDepth
	shallowFor   int // shallow stops required after a cut sample
	shallowLeft  int // of these, still required
	deeperThan   int // bytes
	pageStops    int // as shallowFor, after an absent page
	shallowFirst int // least shallowFor
}

func (learner *depthLearner) update(end WalkEnd, w *frames.Walker, c *WalkedCopy) {
	switch {
	case c.ByStop:
		learner.learnStop(depthOf(w, c))
	case end == EndCut:
		learner.learnCutSample(c)
	}
}

func (learner *depthLearner) learnCutSample(c *WalkedCopy) {
	switch {
	case !c.isLongestSample():
	case c.isFullSample():
		learner.stopForDepth(c.FullSampleBytes)
	default:
		learner.stopForPages(c.FullSampleBytes)
	}
}

func depthOf(w *frames.Walker, c *WalkedCopy) int {
	from, reach := c.Stack.Addr, w.HighestSP()
	if w.OnOtherStack() || reach < from || reach > c.StackEnd {
		return 0
	}
	return int(reach - from)
}

func (learner *depthLearner) stopForDepth(stackBytes int) {
	if !learner.TooDeepForSamples { // samples before the first stop
		learner.shallowFor = min(max(2*learner.shallowFor, learner.shallowFirst), maxDeepStops)
	}
	learner.TooDeepForSamples = true
	learner.shallowLeft = learner.shallowFor
	learner.deeperThan = stackBytes
}

// The kernel does not wait for absent pages (arch/x86/lib/usercopy.c, copy_from_user_nmi).
func (learner *depthLearner) stopForPages(asked int) {
	if !learner.TooDeepForSamples {
		learner.pageStops = min(max(2*learner.pageStops, 1), learner.shallowFirst)
		learner.shallowLeft = learner.pageStops
	}
	learner.TooDeepForSamples, learner.deeperThan = true, asked
}

func (learner *depthLearner) learnStop(used int) {
	switch {
	case learner.shallowLeft == 0:
	case used > learner.deeperThan:
		learner.shallowFor = max(learner.shallowFor, learner.shallowFirst) // 0 after absent pages
		learner.shallowLeft = learner.shallowFor
	default:
		learner.shallowLeft--
		learner.TooDeepForSamples = learner.shallowLeft > 0
	}
}
