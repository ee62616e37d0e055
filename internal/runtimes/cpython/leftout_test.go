// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// TestWhatWasLeftOutIsCopiedOnceItIsMetAsCode: at the address of what stood for no code there may be some by now.
func TestWhatWasLeftOutIsCopiedOnceItIsMetAsCode(t *testing.T) {
	const addr = 0x1000
	r := &Runtime{layout: layouts[12]}
	r.codes.leaveOut(addr)
	if !r.codes.known.Has(addr) {
		t.Fatal("it is copied in each stop")
	}
	r.walk = walk{sample: &managed.Sample{Mem: &frames.Snapshot{}, At: 1}, pages: &r.pages}
	if c, what := r.resolve(addr); c != nil || what != isFreed || r.codes.known.Has(addr) {
		t.Errorf("%v, %d, left out: %v", c, what, r.codes.known.Has(addr))
	}
}
