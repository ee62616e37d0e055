// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// Reader is memory of a process, such as a [Host] or [Live].
type Reader interface {
	Read(addr uint64, b []byte) int
}

// ReadWord reads the word at an address; false if it cannot be read.
func ReadWord(r Reader, addr uint64) (uint64, bool) {
	var b [8]byte
	ok := r.Read(addr, b[:]) == len(b)
	return binary.LittleEndian.Uint64(b[:]), ok
}

// WordReader reads the word at an address; false if it cannot be read.
type WordReader func(addr uint64) (uint64, bool)

// ReadRegions reads regions, many in one call if h is a [Gatherer], else each from r. It calls failed for unreadable
// ones, and reports whether there were none.
func ReadRegions(h Host, r Reader, parts []frames.Region, failed func(*frames.Region)) (all bool) {
	g, _ := h.(Gatherer)
	for all = true; len(parts) > 0; {
		n := 0
		if g != nil {
			n = g.ReadParts(parts[:min(len(parts), procmem.MaxParts)])
		}
		if n == 0 {
			if p := &parts[0]; r.Read(p.Addr, p.Bytes) != len(p.Bytes) {
				all = false
				failed(p)
			}
			n = 1
		}
		parts = parts[n:]
	}
	return all
}

// View is memory as of a [Sample]: the copy, or the process if the thread has not run since.
type View struct {
	Sample *Sample
	// UsedLive: the process was read. The answers hold only if the thread does not run until the end of the walk.
	UsedLive bool
	// Pages are of the process as it is now: since Begun, CLOCK_MONOTONIC, ns.
	Pages       Pages
	Begun       int64
	asked, live bool
}

// Begin begins the walk of s.
func (v *View) Begin(s *Sample) {
	v.Sample, v.UsedLive, v.asked, v.live = s, false, false, false
	v.Begun = procmem.Now()
	v.Pages.Reset(s.Live)
}

// Word returns the word at an address; false if it is not readable as of the sample.
func (v *View) Word(addr uint64) (uint64, bool) {
	if w, ok := v.Sample.Mem.Word(addr); ok {
		return w, true
	}
	if addr < 1<<12 || !v.IsLive() {
		return 0, false
	}
	v.UsedLive = true
	return v.Pages.Word(addr)
}

// Value is Word, or 0.
func (v *View) Value(addr uint64) uint64 {
	w, _ := v.Word(addr)
	return w
}

// Current returns the word that is at an address now.
func (v *View) Current(addr uint64) (uint64, bool) {
	if v.Sample == nil || v.Sample.Live == nil {
		return 0, false
	}
	return ReadWord(v.Sample.Live, addr)
}

// IsLive reports whether the thread has not run between the copy and the first question.
func (v *View) IsLive() bool {
	if !v.asked {
		v.asked, v.live = true, v.Sample.Live != nil && v.Sample.Live.Unchanged()
	}
	return v.live
}

// StillLive is IsLive as of now. Precondition: IsLive was asked.
func (v *View) StillLive() bool {
	v.live = v.live && v.Sample.Live.Unchanged()
	return v.live
}

// InRegs reports whether the word in a known register of the sample passes test.
func (v *View) InRegs(test func(word uint64) bool) bool {
	for i := range frames.NumRegs {
		if w, ok := v.Sample.Regs.Get(uint8(i)); ok && test(w) {
			return true
		}
	}
	return false
}

// PthreadTID is the offset of the thread ID in glibc's struct pthread on x86-64 (nptl/descr.h), bytes. With another C
// library no thread is found by it.
const PthreadTID = 720

// Span is the addresses from Start to End, excluded.
type Span struct{ Start, End uint64 }

// Has reports whether an address is in the span.
func (s Span) Has(addr uint64) bool { return addr >= s.Start && addr < s.End }

// ModuleAgain returns a runtime's module as it is mapped now, or nil.
func ModuleAgain(h Host, was *frames.Module) *frames.Module {
	for _, m := range h.Modules() {
		if SameModule(m, was) {
			return m
		}
	}
	return nil
}

// SameModule reports whether m, which may be nil, is a module, perhaps as mapped again.
func SameModule(m, was *frames.Module) bool {
	return m != nil && (m == was || m.Bias == was.Bias && m.Name == was.Name)
}
