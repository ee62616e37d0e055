// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/observe/copysize"
	"prywalk/internal/observe/deepstack"
)

// CopyHints is what the walks of a thread ask of its next observations ([WalkFeedback.Walked]).
type CopyHints struct {
	copysize.Hints
	Deep deepstack.Hints
	readHints
}

// readHints are the parts of [CopyHints] that concern no size.
type readHints struct {
	// Unproven is the [siteKey] where a passive read lacked a register that a stop has, or 0.
	Unproven uint64
	// Retries counts raw samples that lacked something. A change forces a read of an unchanged thread.
	Retries uint32
	// Incomplete: the last walk lacked memory or a rule that may appear later (exec, dlopen).
	Incomplete bool
	Plan       *managed.Plan // what to copy for a run-time system, or nil
	Anchor     frames.Addr   // where the plan begins, or 0
}

// hintBuffer passes the newest hints between goroutines, without waiting or allocation.
type hintBuffer struct {
	slots  [3]CopyHints
	middle atomic.Uint32 // index of the third slot; with isNew if not read yet
	writer uint32
	reader uint32
}

const isNew = 4

func (h *hintBuffer) init(hints CopyHints) {
	h.slots[0] = hints
	h.reader = 0
	h.writer = 1
	h.middle.Store(2)
}

// put is for the walking goroutine only.
func (h *hintBuffer) put(hints CopyHints) {
	h.slots[h.writer] = hints
	h.writer = h.middle.Swap(h.writer|isNew) &^ isNew
}

// take makes the newest hints those of get, and reports whether they are new. Precondition: on the observing goroutine.
func (h *hintBuffer) take() bool {
	if h.middle.Load()&isNew == 0 {
		return false
	}
	h.reader = h.middle.Swap(h.reader) &^ isNew
	return true
}

func (h *hintBuffer) get() *CopyHints { return &h.slots[h.reader] }

// takeHints reports whether new hints force a read of an unchanged thread.
func (o *Observer) takeHints(t *Thread) (again bool) {
	root := t.hints.get().Root
	if !t.hints.take() {
		return false
	}
	hints := t.hints.get()
	o.unproven.note(hints.Unproven)
	again = hints.Retries != t.retried
	t.retried = hints.Retries
	if hints.Root != root && t.kept.awaitsRoot {
		t.kept.awaitsRoot = false
		again = true
	}
	return again
}
