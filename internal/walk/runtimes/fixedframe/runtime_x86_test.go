// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

func TestRulesForARuntimesFileAreAddedOnce(t *testing.T) {
	h := newLuaFake().process(calls{}, luaRule)
	lib, generated := h.mods[0], h.mods[1]
	h.marked = lib
	detect := func() managed.Runtime {
		t.Helper()
		r, err := Detect(h)
		if r == nil || err != nil {
			t.Fatalf("Detect gives %v, %v", r, err)
		}
		return r
	}
	failed := detect()
	h.mods = []*frames.Module{generated}
	if failed.Attach(h) {
		t.Error("Attach reports success without LuaJIT's file")
	}
	if len(lib.Sources) != 1 || generated.Owner != nil {
		t.Errorf("a failed Attach leaves %d sources in the file, want 1; the code has the owner %v", len(lib.Sources),
			generated.Owner)
	}
	h.mods = []*frames.Module{lib, generated}
	r := detect()
	for range 2 {
		if !r.Attach(h) {
			t.Fatal("Attach reports that LuaJIT is gone")
		}
		if len(lib.Sources) != 2 || lib.Owner != r || lib.NoFP {
			t.Errorf("%d sources in the file, owner %v, NoFP %v; want 2, LuaJIT and false", len(lib.Sources),
				lib.Owner, lib.NoFP)
		}
		if len(generated.Sources) != 2 || generated.Owner != r {
			t.Errorf("%d sources in the code, owner %v; want 2, LuaJIT", len(generated.Sources), generated.Owner)
		}
	}
}

func TestRuntimeStaysWhenAnothersLibraryIsLoadedBelow(t *testing.T) {
	h := newLuaFake().process(calls{}, luaRule)
	h.marked = h.mods[0]
	r, err := Detect(h)
	if r == nil || err != nil || !r.Attach(h) {
		t.Fatalf("Detect gives %v, %v", r, err)
	}
	below := &frames.Module{Start: libAt / 2, End: libAt, Name: "beam"}
	h.mods, h.marked, h.symbol = append([]*frames.Module{below}, h.mods...), below, BEAM.Marker
	if !r.Attach(h) {
		t.Error("LuaJIT counts as gone")
	}
}
