// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"testing"

	"prywalk/frames"
)

func TestBlobIsFoundFromAllItsSegments(t *testing.T) {
	f := newFake()
	begin := f.blob("nmethod", 6, 5, make([]byte, 40000))
	v := f.open(t)
	for _, pc := range []uint64{begin, begin + 127, begin + 20000, begin + 39999} {
		if lo, hi, ok := v.FuncRange(pc); !ok || lo != begin || hi != begin+40000 {
			t.Errorf("%#x: %#x to %#x, %v", pc, lo, hi, ok)
		}
	}
	for _, pc := range []uint64{begin - 1, begin + 40000, codeEnd - 1, codeEnd, 0} {
		if _, _, ok := v.FuncRange(pc); ok {
			t.Errorf("%#x is in a method", pc)
		}
	}
}

func TestChangedCodeIsNoticed(t *testing.T) {
	f := newFake()
	begin := f.blob("nmethod", 6, 5, methodCode)
	v := f.open(t)
	if v.Rule(frames.Query{PC: begin + 6, AfterCall: true}); v.Changed() {
		t.Error("changed, and nothing was")
	}
	f.put32(begin-64+8, 12)
	if !v.Changed() {
		t.Error("a frame of another size was not noticed")
	}
	r, _, _ := v.Rule(frames.Query{PC: begin + 6, AfterCall: true})
	if r.CFAOff != 96 {
		t.Errorf("the rule is still that of before: %+v", r)
	}
	f.mem[begin-96+8] = 0
	if !v.Changed() {
		t.Error("code that is gone was not noticed")
	}
}

func TestJVMsWithoutTablesAreRefused(t *testing.T) {
	f := newFake()
	f.put(f.symbols["gHotSpotVMStructs"], 0)
	if _, err := New(f.host(frames.X86_64), nil); err == nil {
		t.Error("without a table")
	}
	f = newFake()
	f.put(tableAt+stride*3, f.text("Renamed"))
	if _, err := New(f.host(frames.X86_64), nil); err == nil {
		t.Error("without a field")
	}
	if _, err := New(newFake().host(0xff), nil); err == nil {
		t.Error("of an unknown processor")
	}
}

func FuzzHostileMachine(f *testing.F) {
	f.Add(uint32(tableAt), []byte{1, 2, 3, 4, 5, 6, 7, 8}, uint64(codeAt+200))
	f.Add(uint32(segmapAt), []byte{250, 0, 255}, uint64(codeAt+500))
	f.Add(uint32(stubsAt+8), []byte{255, 255, 255, 255}, uint64(codeAt+0x280))
	f.Add(uint32(heapAt+0x200), []byte{0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255}, uint64(1<<40))
	f.Fuzz(func(_ *testing.T, at uint32, b []byte, pc uint64) {
		m := newFake()
		m.blob("nmethod", 6, 5, methodCode)
		m.blob("I2C/C2I adapters", 0, 0, adapterCode)
		m.interpreter()
		if uint64(at) < uint64(len(m.mem)) {
			copy(m.mem[at:], b)
		}
		arch := frames.X86_64 + frames.Arch(pc&1)
		v, err := New(m.host(arch), nil)
		if err != nil {
			return
		}
		for _, q := range []frames.Query{{PC: pc}, {PC: pc, AfterCall: true}, {PC: codeAt + pc%0x800},
			{PC: codeAt + pc%0x800, AfterCall: true, SPOnly: true}} {
			v.Rule(q)
			v.FuncRange(q.PC)
		}
		entry, bytecode := interpreterAt(m)
		v.Rule(frames.Query{PC: entry})
		v.Rule(frames.Query{PC: bytecode})
		v.Changed()
	})
}

func TestChangeOfCodeIsReportedAfterItsNewFormWasRead(t *testing.T) {
	f := newFake()
	begin := f.blob("nmethod", 4, 8, make([]byte, 64))
	v := f.open(t)
	v.Rule(frames.Query{PC: begin + 16, AfterCall: true})
	f.put32(begin-f.header+8, 6) // another method's frame size
	v.Rule(frames.Query{PC: begin + 32, AfterCall: true})
	if !v.Changed() {
		t.Error("the rule given before the change is taken for valid")
	}
	if v.Changed() {
		t.Error("a change is reported twice")
	}
}
