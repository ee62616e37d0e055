// SPDX-License-Identifier: Apache-2.0

package frames

// # Stack depth
//
// A walk can leave its stack (signal handler's, Go's scheduler's, a split one) and return. Often one mapping has both.

// maxSameStackGap is the greatest distance of two stack pointers on one stack across a change of stacks, in bytes:
// runtime.cgocallback's frame.
const maxSameStackGap = 4 << 10

// Steps longer than largeStep bytes are checked for a change of stacks.
const largeStep = 64 << 10

// StackLink is a word that led a walk to another stack: the stack pointer there is the word plus Off.
type StackLink struct {
	At  Addr // address of the word; 0 means that the stack pointer was a register's
	Off int64
}

// MaxStackLinks is the number of links that a walk records.
const MaxStackLinks = 4

type stackTracker struct {
	links          [MaxStackLinks]StackLink // of the first changes of stacks
	linkCount      int                      // changes to another stack, also those without a record
	highestSP      Addr                     // of the first stack, valid once the walk has left it
	onOtherStack   bool
	leftFirstStack bool
}

// trackStep follows a step that may have changed stacks. On one stack it has at most maxSameStackStep bytes, and none
// down (the unsigned difference wraps).
func (t *stackTracker) trackStep(from, to, maxSameStackStep Addr) {
	if !t.onOtherStack {
		t.highestSP = from
	}
	t.onOtherStack = to-t.highestSP > maxSameStackStep
	t.leftFirstStack = t.leftFirstStack || t.onOtherStack
}

func (w *Walker) trackUnread(r *resolvedRule) {
	sp := w.frame.regs.SP()
	switch {
	case r.rule.Flags&FlagStackSwitch != 0:
		w.progress.tracker.trackStep(sp, w.frame.unreadAddr, maxSameStackGap)
	case w.frame.unreadAddr-sp > largeStep && w.leadsToOtherStack(r, sp):
		w.progress.tracker.trackStep(sp, w.frame.unreadAddr, 0)
	default:
		return
	}
	w.recordLink(w.frame.unreadAddr)
}

// leadsToOtherStack is for an unread word that is far from the stack pointer sp.
func (w *Walker) leadsToOtherStack(r *resolvedRule, sp Addr) bool {
	if w.frame.unreadAddr < sp && r.rule.Method == MethodCFI && w.frame.spWord != 0 {
		return true
	}
	return w.isBeyondFirstStack(w.frame.unreadAddr) || w.frame.switchesStack()
}

// isBeyondFirstStack reports whether a place further out than the current frame is on another stack, as the first one
// ends below.
func (w *Walker) isBeyondFirstStack(at Addr) bool {
	return w.snap != nil && !w.progress.tracker.onOtherStack && at > w.snap.StackEnd && w.snap.StackEnd > w.snap.Stack.Addr
}

// recordLink records the word that led to another stack.
func (w *Walker) recordLink(to Addr) {
	t := &w.progress.tracker
	if !t.onOtherStack {
		return
	}
	if t.linkCount < len(t.links) {
		link := &t.links[t.linkCount]
		*link = StackLink{}
		if v, ok := w.frame.mem.Word(w.frame.spWord); ok && w.frame.spWord != 0 {
			*link = StackLink{w.frame.spWord, int64(to - v)}
		}
	}
	t.linkCount++
}

// StackLinks returns the words that led the walk from stack to stack, of its first changes of stacks.
func (w *Walker) StackLinks() []StackLink {
	return w.progress.tracker.links[:min(w.progress.tracker.linkCount, len(w.progress.tracker.links))]
}

// LastStackLink returns the word that led the walk to its last stack. At is 0 if that is the first one, or unknown.
func (w *Walker) LastStackLink() StackLink {
	if n := w.progress.tracker.linkCount; n > 0 && n <= len(w.progress.tracker.links) {
		return w.progress.tracker.links[n-1]
	}
	return StackLink{}
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
	if w.progress.tracker.onOtherStack {
		return w.progress.tracker.highestSP
	}
	return w.frame.regs.SP()
}

// OnOtherStack reports whether the current frame, or [Walker.UnreadAddr], is on another stack than the first.
func (w *Walker) OnOtherStack() bool { return w.progress.tracker.onOtherStack }

// LeftFirstStack reports whether the walk was on another stack, or would be with [Walker.UnreadAddr].
func (w *Walker) LeftFirstStack() bool { return w.progress.tracker.leftFirstStack }
