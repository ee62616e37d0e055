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

// noteStep notes a step that may have changed stacks; on one stack it is at most near bytes long.
func (r *stackTracker) noteStep(from, to, near Addr) {
	if !r.onOtherStack {
		r.highestSP = from
	}
	r.onOtherStack = to-r.highestSP > near
	r.leftFirstStack = r.leftFirstStack || r.onOtherStack
}

// noteUnread notes a step that lacks the word at w.unreadAddr, possibly on another stack.
func (w *Walker) noteUnread(r *Rule) {
	sp := w.regs.SP()
	switch {
	case r.Flags&FlagStackSwitch != 0:
		w.stacks.noteStep(sp, w.unreadAddr, maxSameStackGap)
	case w.unreadAddr-sp > largeStep && w.switchesStack():
		w.stacks.noteStep(sp, w.unreadAddr, 0)
	}
}

// longestStep is in bytes, of a step by r on one stack.
func longestStep(arch Arch, r *Rule) Addr {
	if r.Flags&FlagSignal != 0 {
		return arch.info().signalFrame
	}
	return maxSameStackGap
}

// HighestSP returns the highest stack pointer on the first stack: what a copy of it needs. It may be off by a signal's
// frame (16 KiB on x86-64, 128 KiB on arm64).
func (w *Walker) HighestSP() Addr {
	if w.stacks.onOtherStack {
		return w.stacks.highestSP
	}
	return w.regs.SP()
}

// OnOtherStack reports whether the current frame, or [Walker.UnreadAddr], is on another stack than the first.
func (w *Walker) OnOtherStack() bool { return w.stacks.onOtherStack }

// LeftFirstStack reports whether the walk was on another stack, or would be with the word that it lacks.
func (w *Walker) LeftFirstStack() bool { return w.stacks.leftFirstStack }

// switchesStack is hasSwitchedStack, once for each cached rule.
func (w *Walker) switchesStack() bool {
	e := w.cur
	if e.key != w.key {
		return w.hasSwitchedStack()
	}
	if e.stackSwitch == stackSwitchUnknown {
		e.stackSwitch = noStackSwitch
		if w.hasSwitchedStack() {
			e.stackSwitch = stackSwitched
		}
	}
	return e.stackSwitch == stackSwitched
}

type stackSwitch uint8

const (
	stackSwitchUnknown stackSwitch = iota
	noStackSwitch
	stackSwitched
)
