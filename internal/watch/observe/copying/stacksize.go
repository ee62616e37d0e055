// SPDX-License-Identifier: Apache-2.0

package copying

import "prywalk/frames"

// StackSize is what the next copy has of the stack at the stack pointer.
type StackSize struct {
	Bytes int
	// bytes of the last walks, falling slowly; a lower bound after a kernel sample with too few
	Used int
	Root frames.Addr // of the outermost frame in the last complete walk, or 0
}

// ToReserve returns the bytes of the next copy's buffer: a small stack shares [MinWhole] bytes with other memory.
func (s *StackSize) ToReserve(otherBytes int) int {
	if s.Bytes > MinWhole || otherBytes == 0 {
		return s.Bytes
	}
	return min(s.Bytes, max(MinWhole-otherBytes-Margin, 2*s.Used+Margin, MinInnermost))
}

type sizeLearner struct{ *StackSize }

// fall is the part of the difference by which sizes fall: slowly, as depths vary from sample to sample.
const fall = 64

// update returns again = true if the copy was too short, and the next one is longer.
func (learner *sizeLearner) update(end WalkEnd, w *frames.Walker, c *WalkedCopy) (again bool) {
	from, reach := c.Stack.Addr, w.HighestSP()
	if end == EndComplete && (w.OnOtherStack() || w.Frame().SP != 0) {
		learner.Root = reach
	}
	if used := reach - from; used <= c.StackEnd-from {
		cut := end == EndCut && !c.KernelSample
		if cut {
			used = max(used, learner.sizeToRoot(c))
		}
		again = learner.setSize(int(used)+16, max(c.Room, MinWhole), cut)
	}
	if end == EndCut && c.isFullSample() {
		learner.Used = c.FullSampleBytes + 1
	}
	return again
}

// sizeToRoot returns 0 if the outermost frame's place is unknown or too far away.
func (learner *sizeLearner) sizeToRoot(c *WalkedCopy) uint64 {
	from, root := c.Stack.Addr, learner.Root
	if root > from && root-from <= MaxToEnd {
		return root - from
	}
	return 0
}

// setSize returns again = true if the next copy is longer. cut: the copy was too short.
func (learner *sizeLearner) setSize(used, fullCopy int, cut bool) (again bool) {
	old, want := learner.Bytes, used+Margin
	switch {
	case cut:
		// each copy of a batch of walks must lead to the same size
		want = max(old, 4*fullCopy, want)
	case want < old:
		want = old - (old-want)/fall
	}
	learner.Bytes = min(max(want, MinWhole), MaxUsual)
	learner.Used = max(used, learner.Used-(learner.Used-used)/fall)
	return cut && old < MaxUsual
}

// # Threads that the kernel samples

// After a cut sample the thread is stopped until the stops of 0.5 s have found its stack shallow, twice as long each
// time.
const (
	deepSeconds  = 0.5
	minDeepStops = 16
	maxDeepStops = 1 << 16
)

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
	case !c.KernelSample:
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
