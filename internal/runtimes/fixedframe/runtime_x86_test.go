// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/managed"
)

func TestRulesForARuntimesFileAreAddedOnce(t *testing.T) {
	h := newFake().process(calls{}, fixed{})
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
	h.marked = nil
	if failed.Attach(h) {
		t.Error("Attach reports success without SBCL's file")
	}
	if len(lib.Sources) != 1 || generated.Owner != nil {
		t.Errorf("a failed Attach leaves %d sources in the file, want 1; the code has the owner %v", len(lib.Sources),
			generated.Owner)
	}
	h.marked = lib
	r := detect()
	for range 2 {
		if !r.Attach(h) {
			t.Fatal("Attach reports that SBCL is gone")
		}
		if len(lib.Sources) != 2 || lib.Owner != r || lib.NoFP {
			t.Errorf("%d sources in the file, owner %v, NoFP %v; want 2, SBCL and false", len(lib.Sources), lib.Owner, lib.NoFP)
		}
		if len(generated.Sources) != 1 || generated.Owner != r {
			t.Errorf("%d sources in the code, owner %v; want 1, SBCL", len(generated.Sources), generated.Owner)
		}
	}
	h.mods = append(h.mods, &frames.Module{Start: heapAt, End: memEnd, Generated: true})
	if detect(); len(lib.Sources) != 2 {
		t.Errorf("Detect leaves %d sources in the file, want 2", len(lib.Sources))
	}
}
