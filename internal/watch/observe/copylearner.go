// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
)

// # How much to copy
//
// A walk has an end ([walkEnd]): complete, or what it lacked. Three learners each set a part of the [stackHints]:
//
//	stackSize          stacksize.go    bytes from the stack pointer on
//	otherStackLearner  otherstacks.go  places on other stacks (signal stack, coroutine) to which walks went
//	depthLearner       stacksize.go    whether the kernel's samples are too short for the stack, so that it is stopped
//
// A copy of a stack is as long as the last walks needed, at least 64 KiB, and ends with the mapping. After one that was
// too short, the next is four times as long, and the thread is read again at once. Sizes fall slowly, as depths vary:
//
//	depth    copied   walk      next copy
//	200 KiB   64 KiB  cut       256 KiB
//	200 KiB  256 KiB  complete  255 KiB: 1/64 of what was too much less
//	100 KiB  255 KiB  complete  252 KiB
//	300 KiB  252 KiB  cut       1011 KiB

// Sizes of copies, in bytes.
const (
	firstCopy        = 64 << 10   // before a walk
	minWholeCopy     = 64 << 10   // of the whole stack
	minInnermostCopy = 24 << 10   // of the innermost frames, with other memory
	maxUsualStack    = 8 << 20    // usual RLIMIT_STACK
	maxDeepStack     = 256 << 20  // if known to be deeper
	copyMargin       = 2 << 10    // beyond what the last walks needed
	maxCopyToEnd     = 1280 << 10 // longest copy up to the known end after one that was too short
)

// These are the bytes below the stack pointer that a frame uses.
const (
	redZone      = 128 // below sp, of a leaf function on x86-64 (System V ABI, §3.2.2)
	savedFPARM64 = 16  // below sp: Go saves the caller's frame pointer there
)

// stackHints is what the next copies of a thread have.
type stackHints struct {
	size              stackSize
	stackPlaces       [maxOtherStacks]otherStack // that the next copy includes
	tooDeepForSamples bool                       // a thread that the kernel samples must be stopped
}

// copyLimits say what bounded a copy.
type copyLimits struct {
	outOfTime       bool // the time of the stop
	fullSampleBytes int  // asked for in a kernel sample
}

// OutOfTime reports whether a stop had taken its time before all was copied.
func (c *copyLimits) OutOfTime() bool { return c.outOfTime }

func (s *RawSample) isFullSample() bool {
	return s.How == ByKernelSample && len(s.Mem.Stack.Bytes) >= s.Limits.fullSampleBytes
}

// copyLearner learns from the walks of one thread. It belongs to the walking goroutine.
type copyLearner struct {
	hints  stackHints
	others otherStackLearner
	depth  depthLearner
}

// newCopyLearner returns a learner of a thread without a walk.
func newCopyLearner() *copyLearner {
	l := &copyLearner{hints: stackHints{size: stackSize{bytes: firstCopy}}}
	l.depth.shallowFirst = minDeepStops
	l.others.stackPlaces, l.depth.tooDeepForSamples = &l.hints.stackPlaces, &l.hints.tooDeepForSamples
	return l
}

// restarted returns a learner of the same thread without a walk.
func (l *copyLearner) restarted() *copyLearner {
	restarted := newCopyLearner()
	restarted.depth.shallowFirst = l.depth.shallowFirst
	return restarted
}

// walked learns from a finished walk of a copy. again means that an unchanged thread is to be read again, as the copy
// lacked something that the next one has. Precondition: p has the mappings as of then.
func (l *copyLearner) walked(p *loadedcode.Process, w *frames.Walker, s *RawSample) (end walkEnd, again bool) {
	end = classify(p, w, s)
	if end == endNoTime {
		return end, false
	}
	l.depth.update(end, w, s)
	newPlace := l.others.update(end, w, s)
	longer := l.hints.size.learn(end, w, s)
	return end, newPlace || longer
}

// setRate sets the number of observations per second. Precondition: no walk was made.
func (l *copyLearner) setRate(hz float64) {
	l.depth.shallowFirst = max(int(hz*deepSeconds), minDeepStops)
}

// setBytes sets the size of the next copies, from [minWholeCopy] to most.
func (l *copyLearner) setBytes(n, most uint64) {
	l.hints.size.bytes = int(min(max(n, minWholeCopy), most))
}

// setFirstStackEnd sets the end of the thread's first stack, or 0 ([otherStack.firstStack]).
func (l *copyLearner) setFirstStackEnd(stackEnd frames.Addr) {
	if stackEnd < firstStackBytes {
		return
	}
	l.hints.stackPlaces[0] = otherStack{at: stackEnd - firstStackBytes, firstStack: true}
	l.others.keepFor = minOthersKept
	l.others.walksLeft[0] = minOthersKept
}

// addOtherStack makes the next copies include the surroundings of an address on another stack. The newest
// [maxOtherStacks] are kept.
func (l *copyLearner) addOtherStack(addr frames.Addr) (added bool) {
	_, added = l.others.add(addr, 0)
	return added
}

// extendOtherStack makes the next copies of another stack n bytes long, from [otherStackBelow] bytes below addr on, or
// extends the copy that ends there by n bytes.
func (l *copyLearner) extendOtherStack(addr frames.Addr, n uint64) {
	if !l.others.extend(addr, n) {
		l.others.add(addr, min(n, maxDeepStack))
	}
}

// walkEnd is the end of a walk, by what the next copy needs.
type walkEnd uint8

// Ends.
const (
	endElse       walkEnd = iota // no copy helps: no rule, memory that is no stack, the limit of frames
	endComplete                  // at the outermost frame
	endNoTime                    // incomplete, and the limit of a stop cut the copy
	endCut                       // beyond the copy of the stack
	endCutOther                  // beyond the copy of another stack
	endOtherStack                // in a stack that was not copied
	endNoRegister                // [frames.StopUnproven]
)

func classify(p *loadedcode.Process, w *frames.Walker, s *RawSample) walkEnd {
	switch stop := w.StopReason(); {
	case stop.Complete():
		return endComplete
	case s.Limits.outOfTime:
		return endNoTime
	case stop == frames.StopUnproven:
		return endNoRegister
	case stop == frames.StopBadMemory && p.StackEnd(w.UnreadAddr()) != 0:
		return endOtherStack
	case stop != frames.StopStackCut:
		return endElse
	case w.OnOtherStack():
		return endCutOther
	}
	return endCut
}
