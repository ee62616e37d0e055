// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// view reads memory as of the sample: the copy, or the live process if the thread has slept since.
type view struct {
	sample    *managed.Sample
	begun     int64 // before the pages were read: CLOCK_MONOTONIC, ns
	liveAsked bool
	live      bool
	usedLive  bool // uncopied memory was read: the thread must sleep until the walk ends
	pages     managed.Pages
}

func (v *view) begin(s *managed.Sample) {
	v.sample, v.begun, v.liveAsked, v.live, v.usedLive = s, procmem.Now(), false, false, false
	v.pages.Reset(s.Live)
}

func (v *view) get(addr uint64) (uint64, bool) {
	if w, ok := v.sample.Mem.Word(addr); ok {
		return w, true
	}
	if addr < 1<<12 || !v.isLive() {
		return 0, false
	}
	v.usedLive = true
	return v.pages.Word(addr)
}

// word is get, or 0 if unreadable.
func (v *view) word(addr uint64) uint64 {
	w, _ := v.get(addr)
	return w
}

// byte returns the byte at addr, 0xff if unreadable.
func (v *view) byte(addr uint64) byte {
	w, ok := v.get(addr &^ 7)
	if !ok {
		return 0xff
	}
	return byte(w >> (addr & 7 * 8))
}

func (v *view) has(addr uint64) bool {
	_, ok := v.sample.Mem.Word(addr)
	return ok
}

func (v *view) currentWord(addr uint64) (uint64, bool) {
	if v.sample.Live == nil {
		return 0, false
	}
	return managed.ReadWord(v.sample.Live, addr)
}

// isLive reports whether the thread has slept since the sample; it asks the kernel once.
func (v *view) isLive() bool {
	if !v.liveAsked {
		v.liveAsked, v.live = true, v.sample.Live != nil && v.sample.Live.Unchanged()
	}
	return v.live
}
