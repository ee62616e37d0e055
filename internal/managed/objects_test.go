// SPDX-License-Identifier: Apache-2.0

package managed

import "testing"

type object struct{ Life }

func TestObjectsThatNoWalkHasAnyMoreAreDropped(t *testing.T) {
	const second = 1e9
	var o Objects[*object]
	steady := &object{}
	o.Add(8, steady)
	most := 0
	for i := range uint64(2 * 3600) {
		at := int64(i+1) * second
		steady.Walked = at
		for k := range uint64(5) {
			o.Add(0x1000+16*(5*i+k), &object{Life{Walked: at}})
		}
		o.Add(0x800, &object{Life{Walked: at}})
		o.Begin(at)
		most = max(most, o.Len())
	}
	if limit := 6*121 + 2; most > limit {
		t.Errorf("%d objects are kept, not at most %d", most, limit)
	}
	if o.At(8) != steady || o.Of(steady.Serial) != steady {
		t.Error("what each walk has is dropped")
	}
	if o.Known.Has(0x1000) {
		t.Error("stops leave out what is not known")
	}
	o.Begin(0)
	if o.At(8) != steady {
		t.Error("dropped without a time")
	}
}

func TestAnotherObjectAtAnAddressHasItsOwnNumber(t *testing.T) {
	var o Objects[*object]
	first, second := &object{}, &object{}
	o.Add(8, first)
	o.Add(8, second)
	if o.At(8) != second || o.Of(first.Serial) != first || o.Of(second.Serial) != second {
		t.Errorf("%v, %v, %v", o.At(8), o.Of(first.Serial), o.Of(second.Serial))
	}
	if o.Drop(8); o.At(8) != nil || o.Known.Has(8) {
		t.Error("it is still known")
	}
	if o.Forget(); o.Len() != 0 || o.Of(second.Serial) != nil {
		t.Error("something is left")
	}
}
