// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

func TestAddressLeftOutOfCopiesIsCopiedAgainOnceItIsCode(t *testing.T) {
	const addr = 0x1000
	r := newParts(&interpreter{layout: layouts[12]})
	r.codes.kept.Skip.Add(addr)
	if !r.codes.kept.Skip.Has(addr) {
		t.Fatal("it is copied in each stop")
	}
	r.codes.view.Begin(&managed.Sample{Mem: &frames.Snapshot{}, At: 1})
	if c, what := r.codes.resolve(addr); c != nil || what != managed.ObjectFreed || r.codes.kept.Skip.Has(addr) {
		t.Errorf("%v, %d, left out: %v", c, what, r.codes.kept.Skip.Has(addr))
	}
}
