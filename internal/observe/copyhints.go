// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/observe/copysize"
	"prywalk/internal/observe/deepstack"
)

// CopyHints is what a thread's walks ask of its next observations ([WalkFeedback.Walked]).
type CopyHints struct {
	copysize.Hints
	Deep deepstack.Hints
	readHints
}

type readHints struct {
	// [siteKey] where a passive read lacked a register, or 0
	MissingRegisterSite uint64
	// if it differs from the last one, an unchanged thread is read again
	Retries uint32
	// the walk lacked memory or a rule that may appear later (exec, dlopen)
	Incomplete bool
	Plan       *managed.Plan // or nil
	Anchor     frames.Addr   // where the plan begins, or 0
}

// hintBuffer passes the newest hints between two goroutines, without waiting.
type hintBuffer struct {
	slots  [3]CopyHints
	middle atomic.Uint32
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

func (h *hintBuffer) put(hints CopyHints) {
	h.slots[h.writer] = hints
	h.writer = h.middle.Swap(h.writer|unreadBit) &^ unreadBit
}

// take makes the newest hints those of get, and returns whether they are new. Precondition: on the observing goroutine.
func (h *hintBuffer) take() bool {
	if h.middle.Load()&unreadBit == 0 {
		return false
	}
	h.reader = h.middle.Swap(h.reader) &^ unreadBit
	return true
}

func (h *hintBuffer) get() *CopyHints { return &h.slots[h.reader] }

func (hints *CopyHints) outlineFor(sp frames.Addr) *deepstack.Outline {
	if hints.Root == 0 || hints.Changing || hints.Root-sp >= deepstack.DeepFrom {
		return hints.Deep.Outline
	}
	return nil
}
