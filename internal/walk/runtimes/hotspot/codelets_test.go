// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"testing"

	"prywalk/frames"
)

func counted(t *testing.T, f *fake) (v *VM, reads *int) {
	t.Helper()
	reads = new(int)
	v = f.openWith(t, &readingHost{f.host(frames.X86_64), func(addr uint64, b []byte) int {
		*reads++
		return f.read(addr, b)
	}})
	return v, reads
}

func interpreterAt(f *fake) (entry, bytecode uint64) {
	entry = f.word(stubsAt) + 32
	return entry, entry + uint64(len(entryCode)) + 32
}

func (f *fake) word(addr uint64) uint64 { return wordAt(f.mem[addr:]) }

func TestPCsInTheInterpreterAreFoundWithoutReadingItAgain(t *testing.T) {
	f := newFake()
	f.interpreter()
	routines := f.blob("StubRoutines (1)", 0, 0, forwardCode)
	v, reads := counted(t, f)
	entry, bytecode := interpreterAt(f)
	for _, pc := range []uint64{entry, bytecode, routines + 1} {
		v.Rule(frames.Query{PC: pc})
		v.Rule(frames.Query{PC: pc, AfterCall: true})
	}
	*reads = 0
	for i := range uint64(4) {
		for _, q := range []frames.Query{{PC: entry + i}, {PC: bytecode + i}, {PC: bytecode + i, AfterCall: true}} {
			if _, _, ok := v.Rule(q); !ok {
				t.Errorf("no rule for %+v", q)
			}
		}
		v.FuncRange(routines + 1)
	}
	if *reads != 0 {
		t.Errorf("%d reads", *reads)
	}
}

func TestInterpreterThatIsStillMadeIsReadAgain(t *testing.T) {
	f := newFake()
	f.interpreter()
	entry, bytecode := interpreterAt(f)
	whole := 0
	for _, c := range interpreterPieces {
		whole += len(c.code) + 32
	}
	f.put32(entry-32, int32(whole))
	begin := entry - 32
	f.put(begin-64+32, begin+uint64(whole)+16)
	v := f.open(t)
	if v.Rule(frames.Query{PC: bytecode}); len(v.codelets.list) != 1 {
		t.Fatalf("%+v", v.codelets)
	}
	f.put32(entry-32, int32(len(entryCode)+32))
	f.put(begin-64+32, begin+uint64(whole))
	if !v.Changed() {
		t.Error("the blob has another end, and that was not noticed")
	}
	r, row, ok := v.Rule(frames.Query{PC: bytecode})
	if len(v.codelets.list) != len(interpreterPieces) || !ok || row != &interpreted {
		t.Errorf("%+v, %v, %v; %+v", r, row, ok, v.codelets)
	}
}

func TestRemovedStubRoutinesAreDropped(t *testing.T) {
	f := newFake()
	begin := f.blob("StubRoutines (2)", 0, 0, forwardCode)
	v := f.open(t)
	if v.Rule(frames.Query{PC: begin + 1, AfterCall: true}); v.Changed() {
		t.Error("changed, and nothing was")
	}
	f.mem[begin-96+8] = 0
	if !v.Changed() {
		t.Error("not noticed")
	}
	if _, _, ok := v.Rule(frames.Query{PC: begin + 1, AfterCall: true}); ok {
		t.Error("there still is a rule")
	}
}

func TestSearchOfTheInterpreterEndsWithAnyHeaderSize(t *testing.T) {
	for _, size := range []uint64{0, 8, ^uint64(0), ^uint64(7), ^uint64(31), 1 << 63} {
		f := newFake()
		v, err := New(f.host(frames.ARM64), nil)
		if err != nil {
			t.Fatal(err)
		}
		v.layout.sizes["InterpreterCodelet"] = size
		if v.knowsSender() {
			t.Errorf("a header of %#x bytes: the sender's register is known", size)
		}
	}
}

func TestWholeInterpreterIsReadOnce(t *testing.T) {
	f := newFake()
	f.interpreter()
	v, reads := counted(t, f)
	_, bytecode := interpreterAt(f)
	for _, most := range []int{1000, 4} { // later, the blob's heap, segment, header and name alone
		*reads = 0
		v.Forget()
		if r, row, ok := v.Rule(frames.Query{PC: bytecode}); !ok || row != &interpreted {
			t.Fatalf("%+v, %v, %v", r, row, ok)
		}
		if *reads > most {
			t.Errorf("%d reads, want at most %d", *reads, most)
		}
	}
}
