// SPDX-License-Identifier: Apache-2.0

package managed

import "testing"

type object struct {
	CacheEntry
	id uint64
}

func (o *object) Identity() uint64 { return o.id }

func TestObjectsWithoutWalksAreDropped(t *testing.T) {
	const second = 1e9
	var o Objects[*object]
	steady := &object{}
	o.Add(8, steady)
	most := 0
	for i := range uint64(2 * 3600) {
		at := int64(i+1) * second
		steady.LastWalked = at
		for k := range uint64(5) {
			o.Add(0x1000+16*(5*i+k), &object{CacheEntry: CacheEntry{LastWalked: at}})
			o.Skip.Add(0x1000 + 16*(5*i+k))
		}
		o.Add(0x800, &object{CacheEntry: CacheEntry{LastWalked: at}})
		o.Begin(at)
		most = max(most, o.Len())
	}
	if limit := 6*121 + 2; most > limit {
		t.Errorf("%d objects are kept, want at most %d", most, limit)
	}
	if o.At(8) != steady || o.Of(steady.Serial) != steady {
		t.Error("an object of each walk is dropped")
	}
	if o.Skip.Has(0x1000) {
		t.Error("the address of a dropped object is still in Skip")
	}
	o.Begin(0)
	if o.At(8) != steady {
		t.Error("an object is dropped though the time is unknown")
	}
}

func TestNewObjectAtAnAddressHasANewSerial(t *testing.T) {
	var o Objects[*object]
	first, second := &object{}, &object{}
	o.Add(8, first)
	o.Add(8, second)
	if o.At(8) != second || o.Of(first.Serial) != first || o.Of(second.Serial) != second {
		t.Errorf("at 8: %v; by serial: %v, %v; want the second at 8, and both", o.At(8), o.Of(first.Serial),
			o.Of(second.Serial))
	}
	if o.Drop(8); o.At(8) != nil || o.Skip.Has(8) {
		t.Error("a dropped address still has an object")
	}
	if o.Forget(); o.Len() != 0 || o.Of(second.Serial) != nil {
		t.Error("objects are left after Forget")
	}
}

func TestEqualObjectsShareASerialUntilNoneIsWalked(t *testing.T) {
	var o Objects[*object]
	first := &object{}
	o.Add(8, first)
	equal := &object{CacheEntry: CacheEntry{Serial: first.Serial}}
	o.Add(16, equal)
	if o.Of(first.Serial) != equal || o.At(8) != first {
		t.Errorf("of the serial: %p, at 8: %p; want the newer, %p, and %p", o.Of(first.Serial), o.At(8), equal, first)
	}
	o.walked(first, 2*evictionPeriod)
	o.Begin(2 * evictionPeriod)
	if !o.Begin(3*evictionPeriod+1) || o.At(16) != nil || o.Of(equal.Serial) != first {
		t.Errorf("of the serial: %p, want %p, which was walked last; at 16: %p", o.Of(equal.Serial), first, o.At(16))
	}
}
