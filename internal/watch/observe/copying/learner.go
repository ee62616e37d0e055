// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
)

// Sizes of copies, in bytes.
const (
	First        = 64 << 10   // before a walk
	MinWhole     = 64 << 10   // of the whole stack
	MinInnermost = 24 << 10   // of the innermost frames, with other memory
	MaxUsual     = 8 << 20    // usual RLIMIT_STACK
	MaxDeep      = 256 << 20  // if known to be deeper
	Margin       = 2 << 10    // beyond what the last walks needed
	MaxToEnd     = 1280 << 10 // longest copy up to the known end after one that was too short
)

// Bytes below the stack pointer that a frame uses.
const (
	RedZone      = 128 // below sp, of a leaf function on x86-64 (System V ABI, §3.2.2)
	SavedFPARM64 = 16  // below sp: Go saves the caller's frame pointer there
)

// Hints is what the next copies of a thread have.
type Hints struct {
	StackSize
	OtherStacks
	SampleDepth
}

// WalkedCopy is what a walk has read of a thread's stack.
type WalkedCopy struct {
	Stack                frames.Region
	StackEnd             frames.Addr // [frames.Snapshot.StackEnd]
	Room                 int         // bytes of the buffer
	ByStop, KernelSample bool
	Limits
}

// Limits say what bounded a copy.
type Limits struct {
	OutOfTime       bool // the time of the stop
	FullSampleBytes int  // asked for in a kernel sample
}

func (c *WalkedCopy) isFullSample() bool {
	return c.KernelSample && len(c.Stack.Bytes) >= c.FullSampleBytes
}

// Learner learns from the walks of one thread. It belongs to the walking goroutine.
type Learner struct {
	Hints
	size   sizeLearner
	others otherStackLearner
	depth  depthLearner
}

// NewLearner returns a learner of a thread without a walk.
func NewLearner() *Learner {
	l := &Learner{Hints: Hints{StackSize: StackSize{Bytes: First}}}
	l.depth.shallowFirst = minDeepStops
	l.size.StackSize, l.others.OtherStacks, l.depth.SampleDepth = &l.StackSize, &l.OtherStacks, &l.SampleDepth
	return l
}

// Restarted returns a learner of the same thread without a walk.
func (l *Learner) Restarted() *Learner {
	restarted := NewLearner()
	restarted.depth.shallowFirst = l.depth.shallowFirst
	return restarted
}

// Walked learns from a finished walk of a copy. again: an unchanged thread is to be read again, as the copy lacked
// something that the next one has. Precondition: p has the mappings as of then.
func (l *Learner) Walked(p *loadedcode.Process, w *frames.Walker, c *WalkedCopy) (end WalkEnd, again bool) {
	end = classify(p, w, c)
	if end == EndNoTime {
		return end, false
	}
	l.depth.update(end, w, c)
	newPlace := l.others.update(end, w, c)
	longer := l.size.update(end, w, c)
	return end, newPlace || longer
}

// SetRate sets the number of observations per second. Precondition: no walk was made.
func (l *Learner) SetRate(hz float64) {
	l.depth.shallowFirst = max(int(hz*deepSeconds), minDeepStops)
}

// SetBytes sets the size of the next copies, from [MinWhole] to most.
func (l *Learner) SetBytes(n, most uint64) { l.Bytes = int(min(max(n, MinWhole), most)) }

// SetFirstStackEnd sets the end of the thread's first stack, or 0 ([OtherStack.FirstStack]).
func (l *Learner) SetFirstStackEnd(stackEnd frames.Addr) {
	if stackEnd < FirstStackBytes {
		return
	}
	l.StackPlaces[0] = OtherStack{At: stackEnd - FirstStackBytes, FirstStack: true}
	l.others.keepFor = minOthersKept
	l.others.walksLeft[0] = minOthersKept
}

// AddOtherStack makes the next copies include the surroundings of an address on another stack. The newest
// [MaxOtherStacks] are kept.
func (l *Learner) AddOtherStack(addr frames.Addr) (added bool) {
	_, added = l.others.add(addr, 0)
	return added
}

// ExtendOtherStack makes the next copies of another stack n bytes long, from [OtherStackBelow] bytes below addr on, or
// extends the copy that ends there by n bytes.
func (l *Learner) ExtendOtherStack(addr frames.Addr, n uint64) {
	if !l.others.extend(addr, n) {
		l.others.add(addr, min(n, MaxDeep))
	}
}

// WalkEnd is the end of a walk, by what the next copy needs.
type WalkEnd uint8

// Ends.
const (
	EndElse       WalkEnd = iota // no copy helps: no rule, memory that is no stack, the limit of frames
	EndComplete                  // at the outermost frame
	EndNoTime                    // incomplete, and the limit of a stop cut the copy
	EndCut                       // beyond the copy of the stack
	EndCutOther                  // beyond the copy of another stack
	EndOtherStack                // in a stack that was not copied
	EndNoRegister                // [frames.StopUnproven]
)

func classify(p *loadedcode.Process, w *frames.Walker, c *WalkedCopy) WalkEnd {
	switch stop := w.StopReason(); {
	case stop.Complete():
		return EndComplete
	case c.OutOfTime:
		return EndNoTime
	case stop == frames.StopUnproven:
		return EndNoRegister
	case stop == frames.StopBadMemory && p.StackEnd(w.UnreadAddr()) != 0:
		return EndOtherStack
	case stop != frames.StopStackCut:
		return EndElse
	case w.OnOtherStack():
		return EndCutOther
	}
	return EndCut
}
