// SPDX-License-Identifier: Apache-2.0

package observe

import "prywalk/frames"

// stackSize is what the next copy has of the stack at the stack pointer.
type stackSize struct {
	bytes int
	// used is the bytes of the last walks, and falls slowly. After a kernel sample with too few it is a lower bound.
	used int
	root frames.Addr // of the outermost frame in the last complete walk, or 0
}

// toReserve returns the bytes of the next copy's buffer: a small stack shares [minWholeCopy] bytes with other memory.
func (size *stackSize) toReserve(otherBytes int) int {
	if size.bytes > minWholeCopy || otherBytes == 0 {
		return size.bytes
	}
	return min(size.bytes, max(minWholeCopy-otherBytes-copyMargin, 2*size.used+copyMargin, minInnermostCopy))
}

// fall is the part of the difference by which sizes fall: slowly, as depths vary from sample to sample.
const fall = 64

// learn returns again = true if the copy was too short, and the next one is longer.
func (size *stackSize) learn(end walkEnd, w *frames.Walker, s *RawSample) (again bool) {
	from, reach := s.Mem.Stack.Addr, w.HighestSP()
	if end == endComplete && (w.OnOtherStack() || w.Frame().SP != 0) {
		size.root = reach
	}
	if used := reach - from; used <= s.Mem.StackEnd-from {
		cut := end == endCut && s.How != ByKernelSample
		if cut {
			used = max(used, size.toRoot(s))
		}
		again = size.setSize(int(used)+16, max(len(s.buffers.stack), minWholeCopy), cut)
	}
	if end == endCut && s.isFullSample() {
		size.used = s.Limits.fullSampleBytes + 1
	}
	return again
}

// toRoot returns 0 if the outermost frame's place is unknown or too far away.
func (size *stackSize) toRoot(s *RawSample) uint64 {
	from, root := s.Mem.Stack.Addr, size.root
	if root > from && root-from <= maxCopyToEnd {
		return root - from
	}
	return 0
}

// setSize returns again = true if the next copy is longer. cut means that the copy was too short.
func (size *stackSize) setSize(used, fullCopy int, cut bool) (again bool) {
	old, want := size.bytes, used+copyMargin
	switch {
	case cut:
		// each copy of a batch of walks must lead to the same size
		want = max(old, 4*fullCopy, want)
	case want < old:
		want = old - (old-want)/fall
	}
	size.bytes = min(max(want, minWholeCopy), maxUsualStack)
	size.used = max(used, size.used-(size.used-used)/fall)
	return cut && old < maxUsualStack
}

// # Threads that the kernel samples

// After a cut sample the thread is stopped until the stops of 0.5 s have found its stack shallow, twice as long each
// time.
const (
	deepSeconds  = 0.5
	minDeepStops = 16
	maxDeepStops = 1 << 16
)

type depthLearner struct {
	tooDeepForSamples *bool

	shallowFor   int // shallow stops required after a cut sample
	shallowLeft  int // of these, still required
	deeperThan   int // bytes
	pageStops    int // as shallowFor, after an absent page
	shallowFirst int // least shallowFor
}

func (learner *depthLearner) update(end walkEnd, w *frames.Walker, s *RawSample) {
	switch {
	case s.How == ByStop:
		learner.learnStop(depthOf(w, s))
	case end == endCut:
		learner.learnCutSample(s)
	}
}

func (learner *depthLearner) learnCutSample(s *RawSample) {
	switch {
	case s.How != ByKernelSample:
	case s.isFullSample():
		learner.stopForDepth(s.Limits.fullSampleBytes)
	default:
		learner.stopForPages(s.Limits.fullSampleBytes)
	}
}

func depthOf(w *frames.Walker, s *RawSample) int {
	from, reach := s.Mem.Stack.Addr, w.HighestSP()
	if w.OnOtherStack() || reach < from || reach > s.Mem.StackEnd {
		return 0
	}
	return int(reach - from)
}

func (learner *depthLearner) stopForDepth(stackBytes int) {
	if !*learner.tooDeepForSamples { // samples before the first stop
		learner.shallowFor = min(max(2*learner.shallowFor, learner.shallowFirst), maxDeepStops)
	}
	*learner.tooDeepForSamples = true
	learner.shallowLeft = learner.shallowFor
	learner.deeperThan = stackBytes
}

// The kernel does not wait for absent pages (arch/x86/lib/usercopy.c, copy_from_user_nmi).
func (learner *depthLearner) stopForPages(asked int) {
	if !*learner.tooDeepForSamples {
		learner.pageStops = min(max(2*learner.pageStops, 1), learner.shallowFirst)
		learner.shallowLeft = learner.pageStops
	}
	*learner.tooDeepForSamples, learner.deeperThan = true, asked
}

func (learner *depthLearner) learnStop(used int) {
	switch {
	case learner.shallowLeft == 0:
	case used > learner.deeperThan:
		learner.shallowFor = max(learner.shallowFor, learner.shallowFirst) // 0 after absent pages
		learner.shallowLeft = learner.shallowFor
	default:
		learner.shallowLeft--
		*learner.tooDeepForSamples = learner.shallowLeft > 0
	}
}
