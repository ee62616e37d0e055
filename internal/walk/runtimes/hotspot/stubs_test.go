// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"testing"

	"prywalk/frames"
)

// stubsOf adds two routines, at 8 and 24 of their blob, and two stubs of virtual calls, with code at 16 and 48.
func stubsOf(f *named) (routines, dispatch uint64) {
	routines = f.blob("StubRoutines (2)", 0, 0, forwardCode)
	node := func(next uint64, name string, begin, end uint64) uint64 {
		words := []uint64{next, f.text("StubRoutines"), f.text(name), routines + begin, routines + end}
		if f.major < 9 {
			words = append(words[:3:3], 7, routines+begin, routines+end)
		}
		at := f.take(routineBytes)
		for i, w := range words {
			f.put(at+8*uint64(i), w)
		}
		return at
	}
	list := f.take(8)
	f.put(list, node(node(0, "checkcast_arraycopy", 8, 24), "catch_exception", 24, 32))
	f.symbols[symRoutines] = list

	dispatch = f.blob("vtable chunks", 0, 0, make([]byte, 64))
	f.put(dispatch, dispatch+32) // one chain
	f.mem[dispatch+dispatchType] = 1
	table := f.take(8 * dispatchChains)
	f.put(table+8*200, dispatch)
	f.symbols[symDispatch] = table
	return routines, dispatch
}

func TestStubsHaveTheirOwnNames(t *testing.T) {
	for name, r := range namedReleases {
		t.Run(name, func(t *testing.T) {
			f := newNamed(r)
			routines, dispatch := stubsOf(f)
			n := f.open(t).frameSource()
			begin(n, nil)
			for _, c := range []struct {
				pc     uint64
				caller bool
				want   string
			}{
				{routines + 8, false, "StubRoutines::checkcast_arraycopy(:0) stub"},
				{routines + 24, true, "StubRoutines::checkcast_arraycopy(:0) stub"}, // its call is its last instruction
				{routines + 24, false, "StubRoutines::catch_exception(:0) stub"},
				{routines + 2, false, "StubRoutines (2)(:0) stub"},
				{dispatch + 16, false, "vtable stub(:0) stub"},
				{dispatch + 50, false, "itable stub(:0) stub"},
				{dispatch + 2, false, "vtable chunks(:0) stub"},
			} {
				if got := said(n, frames.Frame{PC: c.pc, AfterCall: c.caller}); got != c.want {
					t.Errorf("%#x, caller %v: %s, want %s", c.pc-routines, c.caller, got, c.want)
				}
			}
		})
	}
}

func TestStubsOfAFileWithoutSymbolsHaveTheNamesOfTheirBlobs(t *testing.T) {
	f := newNamed(namedReleases["JDK 17"])
	routines, dispatch := stubsOf(f)
	delete(f.symbols, symRoutines)
	delete(f.symbols, symDispatch)
	n := f.open(t).frameSource()
	begin(n, nil)
	for pc, want := range map[uint64]string{
		routines + 8: "StubRoutines (2)(:0) stub", dispatch + 16: "vtable chunks(:0) stub",
	} {
		if got := said(n, frames.Frame{PC: pc}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestEndlessListsOfStubsEnd(t *testing.T) {
	f := newNamed(namedReleases["JDK 25"])
	routines, dispatch := stubsOf(f)
	list := f.word(f.symbols[symRoutines])
	f.put(list, list)
	f.put(dispatch+32, dispatch)
	n := f.open(t).frameSource()
	begin(n, nil)
	if got := said(n, frames.Frame{PC: routines + 25}); got != "StubRoutines::catch_exception(:0) stub" {
		t.Error(got)
	}
	if got := said(n, frames.Frame{PC: dispatch + 50}); got != "itable stub(:0) stub" {
		t.Error(got)
	}
	if got := len(n.vm.stubs.routines); got != maxRoutines {
		t.Errorf("%d routines", got)
	}
}
