// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// Sizes of the copy of a stack, in bytes.
const (
	firstCopy  = 64 << 10 // before a walk
	minCopy    = 64 << 10
	maxCopy    = 8 << 20   // usual RLIMIT_STACK
	deepCopy   = 256 << 20 // for a stack known to be deeper
	tailCopy   = 64 << 10  // of the outermost frames, behind a gap
	copyMargin = 2 << 10   // beyond what the last walks needed
)

// CopyHints is what the walks of a thread ask of its next observations ([WalkFeedback.Walked]).
type CopyHints struct {
	sizeHints
	sampleHints
	otherHints
	outlineHints
	// Unproven is the place ([siteKey]) where a register was missing that a stop has, or 0.
	Unproven uint64
	// Retries counts raw samples that lacked something. A change makes the observer read the thread again, even if
	// unchanged.
	Retries uint32
	// Incomplete is set if the last walk lacked memory or an unwind rule that may appear later (exec, dlopen).
	Incomplete bool
	// Plan is what to copy for a run-time system, or nil, and Anchor the address at which it begins, or 0.
	Plan   *managed.Plan
	Anchor frames.Addr
}

// hintBuffer passes the newest CopyHints from the walking to the observing goroutine, without waiting or allocation.
type hintBuffer struct {
	slots  [3]CopyHints
	middle atomic.Uint32 // index of the third slot; with isNew if not read yet
	writer uint32
	reader uint32
}

const isNew = 4

func (b *hintBuffer) init(n CopyHints) {
	b.slots[0] = n
	b.reader = 0
	b.writer = 1
	b.middle.Store(2)
}

// put passes hints. Only the walking goroutine calls it.
func (b *hintBuffer) put(n *CopyHints) {
	b.slots[b.writer] = *n
	b.writer = b.middle.Swap(b.writer|isNew) &^ isNew
}

// take makes the newest hints those of get, and reports whether they are new. Only the observing goroutine calls it.
func (b *hintBuffer) take() bool {
	if b.middle.Load()&isNew == 0 {
		return false
	}
	b.reader = b.middle.Swap(b.reader) &^ isNew
	return true
}

func (b *hintBuffer) get() *CopyHints { return &b.slots[b.reader] }

// takeHints takes new hints, and reports whether the thread must be read again, even if unchanged.
func (o *Observer) takeHints(t *Thread) (again bool) {
	root := t.hints.get().Root
	if !t.hints.take() {
		return false
	}
	n := t.hints.get()
	o.unproven.note(n.Unproven)
	again = n.Retries != t.retried
	t.retried = n.Retries
	if n.Root != root && t.kept.awaitsRoot {
		t.kept.awaitsRoot = false
		again = true
	}
	return again
}
