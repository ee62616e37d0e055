// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

// View is memory as of a [Sample]: the copy, or the process if the thread has not run since.
type View struct {
	Sample *Sample
	// UsedLive means that the process was read, and the thread must not run until the end of the walk.
	UsedLive bool
	// Pages are the process's memory since Begun, in nanoseconds of CLOCK_MONOTONIC.
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

// Word returns the word at an address as of the sample.
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

// Current returns the present word at an address.
func (v *View) Current(addr uint64) (uint64, bool) {
	if v.Sample == nil || v.Sample.Live == nil {
		return 0, false
	}
	return ReadWord(v.Sample.Live, addr)
}

// IsLive reports whether the thread had not run at the first call in this walk, or at the last StillLive.
func (v *View) IsLive() bool {
	if !v.asked {
		v.asked, v.live = true, v.Sample.Live != nil && v.Sample.Live.Unchanged()
	}
	return v.live
}

// StillLive is IsLive as of now. Precondition: IsLive was called.
func (v *View) StillLive() bool {
	v.live = v.live && v.Sample.Live.Unchanged()
	return v.live
}

// InRegs reports whether a known register's word passes test.
func (v *View) InRegs(test func(word uint64) bool) bool {
	for i := range frames.NumRegs {
		if w, ok := v.Sample.Regs.Get(uint8(i)); ok && test(w) {
			return true
		}
	}
	return false
}

// Reader is memory of a process.
type Reader interface {
	Read(addr uint64, b []byte) int
}

// ReadWord reads the word at an address.
func ReadWord(r Reader, addr uint64) (uint64, bool) {
	var b [8]byte
	ok := r.Read(addr, b[:]) == len(b)
	return binary.LittleEndian.Uint64(b[:]), ok
}

// WordReader reads the word at an address.
type WordReader func(addr uint64) (uint64, bool)

// ReadRegions reads regions, many in one call if h is a [Gatherer], else each from r. It calls failed for each
// unreadable one; all means that there was none.
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
