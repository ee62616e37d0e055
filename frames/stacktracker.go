// SPDX-License-Identifier: Apache-2.0

package frames

// # Stack depth
//
// A walk can leave its stack (signal handler's, Go's scheduler's, a split one) and return. Both are often in one
// mapping.

// maxSameStackGap is the greatest distance of two stack pointers on one stack across a change of stacks, in bytes:
// runtime.cgocallback's frame.
const maxSameStackGap = 4 << 10

// Steps longer than largeStep bytes are checked for a change of stacks.
const largeStep = 64 << 10

type stackTracker struct {
	highestSP      Addr // of the first stack, valid once the walk has left it
	onOtherStack   bool
	leftFirstStack bool
}

// noteStep notes a step that may have changed stacks. On one stack it has at most maxSameStackStep bytes, and none down
// (the unsigned difference wraps).
func (t *stackTracker) noteStep(from, to, maxSameStackStep Addr) {
	if !t.onOtherStack {
		t.highestSP = from
	}
	t.onOtherStack = to-t.highestSP > maxSameStackStep
	t.leftFirstStack = t.leftFirstStack || t.onOtherStack
}

func (w *Walker) noteUnread(r *resolvedRule) {
	sp := w.regs.SP()
	switch {
	case r.Flags&FlagStackSwitch != 0:
		w.tracker.noteStep(sp, w.unreadAddr, maxSameStackGap)
	case w.unreadAddr-sp > largeStep && w.switchesStack():
		w.tracker.noteStep(sp, w.unreadAddr, 0)
	}
}

func longestStep(arch Arch, r *Rule) Addr {
	if r.Flags&FlagExactPC != 0 {
		return arch.info().signalFrame
	}
	return maxSameStackGap
}

// HighestSP returns the highest stack pointer on the first stack. It may be off by a signal's frame (16 KiB on x86-64,
// 128 KiB on arm64).
func (w *Walker) HighestSP() Addr {
	if w.tracker.onOtherStack {
		return w.tracker.highestSP
	}
	return w.regs.SP()
}

// OnOtherStack reports whether the current frame, or [Walker.UnreadAddr], is on another stack than the first.
func (w *Walker) OnOtherStack() bool { return w.tracker.onOtherStack }

// LeftFirstStack reports whether the walk was on another stack, or would be with [Walker.UnreadAddr].
func (w *Walker) LeftFirstStack() bool { return w.tracker.leftFirstStack }
