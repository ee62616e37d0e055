// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"cmp"
	"testing"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/managed"
)

// lispHost is a process with SBCL.
type lispHost struct {
	managed.Host
	o      Options
	marked *frames.Module // exports the symbol; nil: none
	symbol string         // "": SBCL's
}

func (h *lispHost) Arch() frames.Arch              { return h.o.Arch }
func (h *lispHost) Modules() []*frames.Module      { return h.o.Modules }
func (h *lispHost) Read(addr uint64, b []byte) int { return h.o.Read(addr, b) }
func (h *lispHost) Analysis() *heuristics.Source   { return nil }

func (h *lispHost) OwnSymbols(m *frames.Module, _ ...string) []managed.Symbol {
	if m != h.marked {
		return nil
	}
	return []managed.Symbol{{Name: cmp.Or(h.symbol, SBCL.Marker), Function: true, Exported: true}}
}

func TestRulesForARuntimesFileAreAddedOnce(t *testing.T) {
	h := &lispHost{o: newFake().process(calls{}, fixed{})}
	lib, generated := h.o.Modules[0], h.o.Modules[1]
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
	h.o.Modules = append(h.o.Modules, &frames.Module{Start: heapAt, End: memEnd, Generated: true})
	if detect(); len(lib.Sources) != 2 {
		t.Errorf("Detect leaves %d sources in the file, want 2", len(lib.Sources))
	}
}
