// SPDX-License-Identifier: Apache-2.0

package frames

// # Stack depth
//
// A walk can leave its stack for another (signal handler's, Go's scheduler's, a split one) and return. They are often
// in one mapping, megabytes apart, so addresses do not show it.

// nearBy is the greatest distance, in bytes, of two stack pointers on one stack across a change of stacks:
// runtime.cgocallback's frame.
const nearBy = 4 << 10

// largeStep, in bytes: longer steps are checked for a change of stacks.
const largeStep = 64 << 10

// reach follows the stack on which a walk began.
type reach struct {
	highestSP Addr // highest stack pointer of the first stack, valid once the walk has left it
	away      bool // on another stack now
	left      bool // the walk has been on another stack
}

// stepped notes a step that may have changed stacks; on one stack it is at most near bytes long.
func (r *reach) stepped(from, to, near Addr) {
	if !r.away {
		r.highestSP = from
	}
	r.away = to-r.highestSP > near
	r.left = r.left || r.away
}

// noteUnread notes a step that lacks the word at w.unreadAddr, possibly on another stack.
func (w *Walker) noteUnread(r *Rule) {
	sp := w.regs.SP()
	switch {
	case r.Flags&FlagSwitch != 0:
		w.reach.stepped(sp, w.unreadAddr, nearBy)
	case w.unreadAddr-sp > largeStep && w.changesStack():
		w.reach.stepped(sp, w.unreadAddr, 0)
	}
}

// longestStep is in bytes, of a step by r on one stack.
func longestStep(arch Arch, r *Rule) Addr {
	if r.Flags&FlagSignal != 0 {
		return arch.info().signalFrame
	}
	return nearBy
}

// HighestSP returns the highest stack pointer on the first stack: what a copy of it needs. It may be off by a signal's
// frame (16 KiB on x86-64, 128 KiB on arm64).
func (w *Walker) HighestSP() Addr {
	if w.reach.away {
		return w.reach.highestSP
	}
	return w.regs.SP()
}

// OnOtherStack reports whether the current frame, or [Walker.UnreadAddr], is on another stack than the first.
func (w *Walker) OnOtherStack() bool { return w.reach.away }

// LeftFirstStack reports whether the walk was on another stack, or would be with the word that it lacks.
func (w *Walker) LeftFirstStack() bool { return w.reach.left }

// changesStack is changedStack, once for each cached rule.
func (w *Walker) changesStack() bool {
	e := w.cur
	if e.key != w.key {
		return w.changedStack()
	}
	if e.stackChange == stackChangeUnknown {
		e.stackChange = stackKept
		if w.changedStack() {
			e.stackChange = stackChanged
		}
	}
	return e.stackChange == stackChanged
}

type stackChange uint8

const (
	stackChangeUnknown stackChange = iota
	stackKept
	stackChanged
)
