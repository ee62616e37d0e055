// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// # Names of stubs
//
//	StubCodeDesc   │ next │ group │ name │ begin │ end │      JDK 8: an index before begin
//	VtableStub     │ next │ index │ two offsets │ type │ code …
//
// Symbols of libjvm.so lead to their lists (runtime/stubCodeGenerator.hpp, code/vtableStubs.hpp). Without symbols a
// stub has the name of its blob.

const (
	symRoutines = "_ZN12StubCodeDesc5_listE"
	symDispatch = "_ZN11VtableStubs6_tableE"
)

const (
	maxRoutines    = 1024
	routineBytes   = 48
	maxDispatch    = 4096
	dispatchChains = 256
	dispatchHeader = 16 // bytes before the code
	dispatchType   = 14 // offset of a byte: 1 in a vtable stub, 0 in an itable stub
)

// routine is an assembly routine with a name of its own.
type routine struct {
	begin, end uint64
	name       string
}

type stubNames struct {
	host     managed.Host
	lib      *frames.Module
	first    uint64 // of the list that was read
	routines []routine
}

// routineAt returns the innermost routine at pc.
func (s *stubNames) routineAt(pc uint64) (r routine, ok bool) {
	s.readRoutines()
	for _, c := range s.routines {
		if pc >= c.begin && pc < c.end && (!ok || c.end-c.begin < r.end-r.begin) {
			r, ok = c, true
		}
	}
	return r, ok
}

// readRoutines reads the list if it has a new first element. A JVM adds routines in its first seconds.
func (s *stubNames) readRoutines() {
	m := s.memory()
	first := m.word(s.symbol(symRoutines))
	if first == s.first || m.err != nil {
		return
	}
	s.first, s.routines = first, s.routines[:0]
	var b [routineBytes]byte
	for at := first; at != 0 && len(s.routines) < maxRoutines && m.bytes(at, b[:]); at = wordAt(b[:]) {
		bounds := b[24:]
		if wordAt(bounds) < maxRoutines { // an index
			bounds = b[32:]
		}
		name := m.name(wordAt(b[8:])) + "::" + m.name(wordAt(b[16:]))
		s.routines = append(s.routines, routine{wordAt(bounds), wordAt(bounds[8:]), name})
	}
}

// dispatchAt returns the stub of virtual calls with code at pc, and whether it is for an interface. from is the begin
// of its blob.
func (s *stubNames) dispatchAt(from, pc uint64) (at uint64, itable, ok bool) {
	m := s.memory()
	var table [8 * dispatchChains]byte
	if !m.bytes(s.symbol(symDispatch), table[:]) {
		return 0, false, false
	}
	n := 0
	for chain := table[:]; len(chain) > 0; chain = chain[8:] {
		for stub := wordAt(chain); stub != 0 && n < maxDispatch; stub, n = m.word(stub), n+1 {
			if stub >= from && stub > at && stub+dispatchHeader <= pc {
				at = stub
			}
		}
	}
	var header [dispatchHeader]byte
	ok = at != 0 && m.bytes(at, header[:]) && header[dispatchType] <= 1
	return at, header[dispatchType] == 0, ok
}

// symbol returns 0 if the file has none of that name.
func (s *stubNames) symbol(name string) uint64 {
	if found := s.host.OwnSymbols(s.lib, name); len(found) > 0 {
		return found[0].Addr
	}
	return 0
}

// memory returns memory that is read a page at a time.
func (s *stubNames) memory() *memory {
	var pages managed.Pages
	pages.Reset(s.host)
	return &memory{from: &pages}
}
