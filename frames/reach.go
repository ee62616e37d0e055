// SPDX-License-Identifier: Apache-2.0

package frames

// # Reach
//
// How much of a stack a walk needs is a distance between two addresses on that stack. A walk can leave it: a signal's
// handler may have a stack of its own, Go's scheduler has one, stacks can grow in pieces. Other stacks may lie
// anywhere, mostly in the same mapping, some megabytes away, so that addresses alone do not tell.
// It can also come back: Go calls C on another stack, and C calls Go back where the goroutine had left off.

// nearBy is how far apart two stack pointers lie at most for a step to another stack to have stayed on the one, or
// to have come back to it. The frame of a call back from C to Go lies between (runtime.cgocallback).
const nearBy = 4 << 10

// largeStep is how far a step must lead for it to be asked whether the code has changed stacks: few frames are so
// large.
const largeStep = 64 << 10

// reach follows the stack that a walk has begun on.
type reach struct {
	end  Addr // the highest stack pointer there, valid while away or after coming back
	away bool // the walk is on another stack
	left bool // it was on one, at any time
}

// stepped notes a step that may have changed stacks, between two stack pointers at most near bytes apart if it has not.
func (r *reach) stepped(from, to, near Addr) {
	if !r.away {
		r.end = from
	}
	r.away = to-r.end > near
	r.left = r.left || r.away
}

// lacks notes that a step could not be made because of the word at w.unreadAddr: it may be the first one on another
// stack.
func (w *Walker) lacks(r *Rule) {
	sp := w.regs.SP()
	switch {
	case r.Flags&FlagSwitch != 0:
		w.reach.stepped(sp, w.unreadAddr, nearBy)
	case w.unreadAddr-sp > largeStep && w.wasLed():
		w.reach.stepped(sp, w.unreadAddr, 0)
	}
}

// near gives how far a step that may change stacks leads if it does not.
func (w *Walker) near(r *Rule) Addr {
	if r.Flags&FlagSignal != 0 {
		return w.regs.Arch.info().signalFrame
	}
	return nearBy
}

// Reach gives how far out the walk has come on the stack that it began on. That is the highest stack pointer there,
// which is that of the current frame unless the walk has gone on to another stack. It may be that of a stack that
// follows directly, by the largest frame of a signal (16 KiB on x86-64, 128 KiB on arm64) at most.
func (w *Walker) Reach() Addr {
	if w.reach.away {
		return w.reach.end
	}
	return w.regs.SP()
}

// Away reports whether the current frame, or the word that the walk lacks ([Walker.UnreadAddr]), is on another stack
// than the first one.
func (w *Walker) Away() bool { return w.reach.away }

// Left reports whether the walk has been on another stack than the first one, or would have come there with the word
// that it lacks. It may be back.
func (w *Walker) Left() bool { return w.reach.left }

// wasLed is changedStack, asked once for each entry of the cache: large frames need not be looked into in each walk.
func (w *Walker) wasLed() bool {
	e := w.cur
	if e.key != w.key {
		return w.changedStack()
	}
	if e.changes == changesUnknown {
		e.changes = changesNot
		if w.changedStack() {
			e.changes = changesStack
		}
	}
	return e.changes == changesStack
}

// changes says whether an entry's code has loaded another stack's pointer, where that was asked.
type changes uint8

const (
	changesUnknown changes = iota
	changesNot
	changesStack
)
