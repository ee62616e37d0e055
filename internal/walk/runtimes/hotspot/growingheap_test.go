// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"testing"

	"prywalk/frames"
)

func TestMethodAcrossTheFormerEndOfItsHeapIsFound(t *testing.T) {
	for name, r := range releases {
		f := makeFake(r)
		earlier := f.blob("nmethod", 6, 5, methodCode)
		former := f.next + 0x200
		high := uint64(heapAt + 0x200 + 8)
		f.put(high, former)
		v := f.open(t)
		if _, _, ok := v.Rule(frames.Query{PC: earlier + 6, AfterCall: true}); !ok {
			t.Fatalf("%s: no rule before the heap grew", name)
		}
		begin := f.next + 32 + f.header
		pc := begin + 16
		if _, _, ok := v.Rule(frames.Query{PC: pc, AfterCall: true}); ok || v.Changed() {
			t.Fatalf("%s: a rule before there is code, or a change", name)
		}
		f.put(high, codeEnd)
		f.blob("nmethod", 8, 5, make([]byte, 0x800))
		if !v.Changed() {
			t.Errorf("%s: a method after the answer that there is none was not noticed", name)
		}
		if rule, _, ok := v.Rule(frames.Query{PC: pc, AfterCall: true}); !ok || rule.CFAOff != 64 {
			t.Errorf("%s: below the former end %#x: %+v, %v", name, former, rule, ok)
		}
		if lo, hi, ok := v.FuncRange(pc); !ok || lo != begin || hi != begin+0x800 || lo >= former || hi <= former {
			t.Errorf("%s: %#x to %#x, %v; former end %#x", name, lo, hi, ok, former)
		}
	}
}

func TestBlobBeyondTheEndOfItsHeapIsNone(t *testing.T) {
	f := newFake()
	pc := f.blob("nmethod", 6, 5, make([]byte, 0x800)) + 16
	f.put(heapAt+0x200+8, pc+0x100)
	if _, _, ok := f.open(t).FuncRange(pc); ok {
		t.Error("a blob that ends beyond its heap is believed")
	}
}
