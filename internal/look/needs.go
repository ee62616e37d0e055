// SPDX-License-Identifier: Apache-2.0

package look

import (
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/samestack"
)

// Sizes of the copy of a stack, in bytes.
const (
	firstCopy  = 64 << 10 // of a thread that was never walked
	leastCopy  = 64 << 10
	mostCopy   = 8 << 20   // the usual limit of a stack (RLIMIT_STACK)
	deepCopy   = 256 << 20 // where a deeper one is asked for
	tailCopy   = 64 << 10  // of the outermost frames, where some further in are too large to be copied
	copyMargin = 2 << 10   // beyond what the last walks needed
)

// Needs is what the walks of a thread ask of its next looks. It is one value, which the goroutine that walks hands
// to that of the looks after each walk ([Walks.Walked]); nothing else goes that way.
type Needs struct {
	// Bytes is how much of the stack is to be copied, as far as there is as much.
	Bytes int
	// Used is how much of it the walks used lately; Bytes is never small.
	Used int
	// Deep: the stack is deeper now and then than the kernel's samples copy.
	Deep bool
	// Top: no copy goes beyond; 0: it is not known.
	Top frames.Addr
	// Changing: Top was another stack's. The thread changes stacks.
	Changing bool
	// Root is the stack pointer of the thread's outermost frame, as of a complete walk; 0: it is not known.
	Root frames.Addr
	// ToEnd: no walk was complete yet. The stack ends where its mapping does, for all that is known.
	ToEnd bool
	// Others are the places on other stacks to be copied.
	Others [mostOthers]StackRef
	// Unproven is where the last walk lacked a register that a freeze of the sleeper would show, as [placeOf] numbers
	// places; 0: it lacked none.
	Unproven uint64
	// Retries counts the shots that lacked something. If one more did than at the last look, the last shot is not to
	// be reused. Else a thread that sleeps would show it for as long as it sleeps.
	Retries uint32
	// Incomplete: the last walk ended before its root, and not for want of a register: for want of memory, or of a
	// rule. Either may be there by now, as after an exec, while a library was loaded, or a run-time system started.
	Incomplete bool
	// Sleep is what the walk of the shot at SleepAt depends on; nil: that is not known.
	Sleep   *samestack.Words
	SleepAt int64
	// Plan is what is copied besides for a run-time system, Anchor where it begins; nil, 0: nothing.
	Plan   *managed.Plan
	Anchor frames.Addr

	outline *outline // what freezes copy by; nil: all in one piece
	misled  bool     // there was one, and the walk was cut
}

// tripleBuffer hands the newest Needs from one goroutine to another. Neither waits for the other, and nothing is
// allocated: each has a slot of its own, and the third changes hands. Init makes the box usable.
type tripleBuffer struct {
	slots  [3]Needs
	middle atomic.Uint32 // the third slot, with isNew if the reader has not seen it
	writer uint32
	reader uint32
}

const isNew = 4

func (b *tripleBuffer) init(n Needs) {
	b.slots[0], b.reader, b.writer = n, 0, 1
	b.middle.Store(2)
}

// put makes n the newest. For the goroutine that walks.
func (b *tripleBuffer) put(n *Needs) {
	b.slots[b.writer] = *n
	b.writer = b.middle.Swap(b.writer|isNew) &^ isNew
}

// take makes the newest the one that get gives, and reports whether it is another one than before. For the
// goroutine of the looks.
func (b *tripleBuffer) take() bool {
	if b.middle.Load()&isNew == 0 {
		return false
	}
	b.reader = b.middle.Swap(b.reader) &^ isNew
	return true
}

// get gives what was taken last.
func (b *tripleBuffer) get() *Needs { return &b.slots[b.reader] }

// takeNeeds takes what walks have asked for since the last look at a thread. again: that one lacked something.
func (l *Looker) takeNeeds(t *Thread) (again bool) {
	root := t.needs.get().Root
	if !t.needs.take() {
		return false
	}
	n := t.needs.get()
	l.unproven.note(n.Unproven)
	again = n.Retries != t.retried
	t.retried = n.Retries
	if n.Root != root && t.awaitsRoot {
		t.awaitsRoot, again = false, true
	}
	return again
}
