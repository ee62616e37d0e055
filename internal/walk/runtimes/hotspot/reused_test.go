// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

// Without segments, stubs and methods share the code cache.
func TestMethodInPlaceOfAFreedStubIsNamed(t *testing.T) {
	for name, r := range namedReleases {
		f := newNamed(r)
		code, _, _ := cart(f, r)
		header := code - f.header - 32
		method := slices.Clone(f.mem[header:code])
		f.put(header+32, f.text("MethodHandles adapters"))
		v := f.open(t)
		n := v.frameSource()
		begin(n, nil)
		fr := frames.Frame{PC: code + 60, AfterCall: true}
		if got := said(n, fr); got == inItem {
			t.Fatalf("%s: the stub is named %s", name, got)
		}
		if v.Changed() {
			t.Errorf("%s: Changed reports a change before the stub is freed", name)
		}
		copy(f.mem[header:], method)
		if !v.Changed() {
			t.Errorf("%s: Changed does not report that the stub is replaced", name)
		}
		n.validity.copiedAt = procmem.Now()
		if got := said(n, fr); got != inItem {
			t.Errorf("%s: the method is named %q, want %q", name, got, inItem)
		}
	}
}
