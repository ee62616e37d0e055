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
	// MissingRegisterSite is the [siteKey] where a passive read lacked a register that a stop has, or 0.
	MissingRegisterSite uint64
	// Retries counts raw samples that lacked something. After a change an unchanged thread is read again.
	Retries uint32
	// Incomplete: the last walk lacked memory or a rule that may appear later (exec, dlopen).
	Incomplete bool
	Plan       *managed.Plan // what to copy for a runtime, or nil
	Anchor     frames.Addr   // where the plan begins, or 0
}

// hintBuffer passes the newest hints between goroutines, without waiting or allocation.
type hintBuffer struct {
	slots  [3]CopyHints
	middle atomic.Uint32 // index of the third slot, and unreadBit
	writer uint32
	reader uint32
}

const unreadBit = 4 // of hintBuffer.middle

func (h *hintBuffer) init(hints CopyHints) {
	h.slots[0] = hints
	h.reader = 0
	h.writer = 1
	h.middle.Store(2)
}

// put is for the walking goroutine only.
func (h *hintBuffer) put(hints CopyHints) {
	h.slots[h.writer] = hints
	h.writer = h.middle.Swap(h.writer|unreadBit) &^ unreadBit
}

// take makes the newest hints those of get, and reports whether they are new. Precondition: on the observing goroutine.
func (h *hintBuffer) take() bool {
	if h.middle.Load()&unreadBit == 0 {
		return false
	}
	h.reader = h.middle.Swap(h.reader) &^ unreadBit
	return true
}

func (h *hintBuffer) get() *CopyHints { return &h.slots[h.reader] }

// outlineFor returns the outline if the stack is deep at a stack pointer.
func (hints *CopyHints) outlineFor(sp frames.Addr) *deepstack.Outline {
	if hints.Root == 0 || hints.Changing || hints.Root-sp >= deepstack.DeepFrom {
		return hints.Deep.Outline
	}
	return nil
}
