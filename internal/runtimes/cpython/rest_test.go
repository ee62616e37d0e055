// SPDX-License-Identifier: Apache-2.0

package cpython

import "testing"

// TestCodeThatIsNotMetAnyMoreIsDropped: for hours a program makes functions and drops them. What is kept was met
// in the last two minutes. Stops copy the heads of what is dropped, should it be met again.
func TestCodeThatIsNotMetAnyMoreIsDropped(t *testing.T) {
	const second = 1e9
	r := &Runtime{}
	steady := &code{}
	r.codes.add(8, steady)
	most := 0
	for i := range uint64(2 * 3600) {
		at := int64(i+1) * second
		steady.met = at
		for k := range uint64(5) {
			r.codes.add(0x1000+16*(5*i+k), &code{met: at})
		}
		r.codes.add(0x800, &code{met: at}) // another one at the same address
		r.codes.rest(at)
		most = max(most, len(r.codes.byAddr), len(r.codes.bySerial))
	}
	if limit := 6*121 + 2; most > limit {
		t.Errorf("%d code objects are kept, not at most %d", most, limit)
	}
	if r.codes.byAddr[8] != steady || r.codes.bySerial[steady.serial] != steady {
		t.Error("what is met all the time is dropped")
	}
	if r.codes.known.Has(0x1000) {
		t.Error("stops leave out what is not known")
	}
	r.codes.rest(0) // of a core
	if r.codes.byAddr[8] != steady {
		t.Error("dropped without a time")
	}
}
