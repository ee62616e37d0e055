// SPDX-License-Identifier: Apache-2.0

package frames

// # Stack depth
//
// A walk can leave its stack for another (signal handler's, Go's scheduler's, a split one) and return. They are often
// in one mapping, megabytes apart, so addresses do not show it.

// maxSameStackGap is the greatest distance, in bytes, of two stack pointers on one stack across a change of stacks:
// runtime.cgocallback's frame.
const maxSameStackGap = 4 << 10

// largeStep, in bytes: longer steps are checked for a change of stacks.
const largeStep = 64 << 10

// stackTracker follows the stack on which a walk began.
type stackTracker struct {
	highestSP      Addr // highest stack pointer of the first stack, valid once the walk has left it
	onOtherStack   bool // on another stack now
	leftFirstStack bool // the walk has been on another stack
}

// noteStep notes a step between two stack pointers that may have changed stacks. On one stack it is at most
// maxSameStackStep bytes long.
func (t *stackTracker) noteStep(from, to, maxSameStackStep Addr) {
	if !t.onOtherStack {
		t.highestSP = from
	}
	t.onOtherStack = to-t.highestSP > maxSameStackStep
	t.leftFirstStack = t.leftFirstStack || t.onOtherStack
}

// noteUnread notes a step that lacks the word at w.unreadAddr, possibly on another stack.
func (w *Walker) noteUnread(r *resolvedRule) {
	sp := w.regs.SP()
	switch {
	case r.Flags&FlagStackSwitch != 0:
		w.tracker.noteStep(sp, w.unreadAddr, maxSameStackGap)
	case w.unreadAddr-sp > largeStep && w.switchesStack():
		w.tracker.noteStep(sp, w.unreadAddr, 0)
	}
}

// longestStep returns the most bytes of a step by r on one stack.
func longestStep(arch Arch, r *Rule) Addr {
	if r.Flags&FlagExactPC != 0 {
		return arch.info().signalFrame
	}
	return maxSameStackGap
}

// HighestSP returns the highest stack pointer on the first stack: what a copy of it needs. It may be off by a signal's
// frame (16 KiB on x86-64, 128 KiB on arm64).
func (w *Walker) HighestSP() Addr {
	if w.tracker.onOtherStack {
		return w.tracker.highestSP
	}
	return w.regs.SP()
}

// OnOtherStack reports whether the current frame, or [Walker.UnreadAddr], is on another stack than the first.
func (w *Walker) OnOtherStack() bool { return w.tracker.onOtherStack }

// LeftFirstStack reports whether the walk was on another stack, or would be with the word that it lacks.
func (w *Walker) LeftFirstStack() bool { return w.tracker.leftFirstStack }
