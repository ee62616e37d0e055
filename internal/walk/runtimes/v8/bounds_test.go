// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// Objects of a program can share a table.
func TestTablesOfAllFunctionsAndCodesAreBounded(t *testing.T) {
	const count, table, infos, heads, codes = maxKept/maxTable + 3, 0x100000, 0x10000, 0x20000, 0x40000
	b := make([]byte, table+16+maxTable)
	r := fakeRuntime(version{14, 6}, b)
	start := fakeBaseline(r, b, bytecodesA)
	head := append([]byte{}, b[0x400:0x400+codeHead]...)
	stream := append([]byte{}, b[start-fakeAt-r.heap.build.headerSize:start-fakeAt]...)
	put(b, table, pointer(mapOfCode))
	put(b, table+8, maxTable<<32)
	for i := range count {
		sfi, bytecodes := infos+0x100*i, heads+0x100*i
		fakeInfo(r, b, sfi, uint64(i), stringA, bytecodes)
		put(b, bytecodes, pointer(mapOfBytecodes))
		put(b, bytecodes+int(r.heap.build.bytesPositions), pointer(table))
		object, stream0 := codes+0x400*i, codes+0x400*i+0x100
		copy(b[object:], head)
		copy(b[stream0:], stream)
		put(b, stream0+8, pointer(object))
		put(b, object+int(r.heap.build.codeStart), fakeAt+uint64(stream0)+r.heap.build.headerSize)
		put(b, object+int(r.heap.build.codePositions), pointer(table))
		if r.functions.functionOf(pointer(sfi)) == nil ||
			r.codes.codeAt(fakeAt+uint64(stream0)+r.heap.build.headerSize+4) == nil {
			t.Fatalf("object %d is not found", i)
		}
	}
	functions, code := 0, 0
	for _, f := range r.functions.byInfo {
		functions += f.size()
	}
	for _, c := range r.codes.byStart {
		code += c.size()
	}
	if functions == 0 || code == 0 || functions > maxKept+maxTable || code > maxKept || r.functions.kept < functions {
		t.Errorf("%d bytes of functions, counted as %d, and %d of code are kept; want at most %d of each",
			functions, r.functions.kept, code, maxKept)
	}
	r.functions.kept = maxKept + 1 // by lines and classes
	r.Begin(&managed.Sample{At: 2, Live: r.heap.live})
	if len(r.functions.byInfo) != 0 || r.functions.kept != 0 {
		t.Errorf("%d functions and %d bytes are kept; want none", len(r.functions.byInfo), r.functions.kept)
	}
}

// Megabytes of WebAssembly's code have no headers.
func TestCodeWithoutHeadersIsSearchedOnce(t *testing.T) {
	const stack, fp, code, wasm = 0x900000, 0x900100, 0x80000, 0xe0000
	b := make([]byte, 0x100000)
	r := fakeRuntime(version{14, 6}, b)
	start := fakeBaseline(r, b, bytecodesA)
	words := make([]byte, 0x200)
	put(words, fp-stack-fpContext, 2*12) // the type of a frame
	mem := &frames.Snapshot{Stack: frames.Region{Addr: stack, Bytes: words}, StackEnd: stack + 0x200}
	n := 0
	live := countedReads{memory{fakeAt, b}, &n}
	walk := func(pc uint64) bool {
		m := &frames.Module{Generated: true, Start: fakeAt + code, End: fakeAt + 0x100000}
		_, found := r.ManagedFrames(&frames.Frame{PC: pc, FP: fp, SP: fp - 64, Module: m, AfterCall: true}, fp+16, nil)
		return found
	}
	r.Begin(&managed.Sample{Regs: &frames.Regs{Arch: frames.X86_64}, Mem: mem, At: 1, Live: live})
	if r.codes.codeAt(start+8) == nil || walk(fakeAt+wasm+0x10000) {
		t.Fatal("code is not found, or where there is none")
	}
	n = 0
	for pc := uint64(wasm); pc < wasm+0x10000; pc += 0x100 {
		if walk(fakeAt + pc) {
			t.Fatalf("code at %#x", pc)
		}
	}
	if most := 256 * 2 * scanBlock; n > most {
		t.Errorf("%d bytes are read for 256 addresses; want at most %d", n, most)
	}
	if r.codes.byStart = nil; r.codes.codeAt(start+8) == nil {
		t.Error("the code below is not found again")
	}
	copy(b[code+0x50000:], b[start-fakeAt-r.heap.build.headerSize:][:0x200])
	put(b, 0x400+int(r.heap.build.codeStart), fakeAt+code+0x50000+r.heap.build.headerSize)
	for i := range r.codes.emptyRanges {
		r.codes.emptyRanges[i].at -= emptyRangeFor
	}
	walk(fakeAt + wasm + 0x10100) // a search that skips an empty range does not renew it
	r.codes.dropEmptyRanges()
	if r.codes.codeAt(fakeAt+code+0x50000+r.heap.build.headerSize+8) == nil {
		t.Error("code is not found where there was none before")
	}
}

func TestCodeOfEveryIsolateIsFound(t *testing.T) {
	const first, second, mapOfSecond = 0x2000, 0x4000, 0x300
	b := make([]byte, 0x6000)
	r := fakeRuntime(version{9, 4}, b)
	fakeFunctions(r, b)
	put(b, mapOfSecond, pointer(0))
	binary.LittleEndian.PutUint16(b[mapOfSecond+instanceType:], fakeCode)
	kind := byte(slices.Index(r.heap.build.kinds[:], kindBaseline))
	for at, m := range map[int]int{first: mapOfCode, second: mapOfSecond} {
		put(b, at, pointer(m))
		put(b, at+int(r.heap.build.codeDeopt), pointer(bytecodesA))
		binary.LittleEndian.PutUint32(b[at+int(r.heap.build.codeSize):], 0x100)
		b[at+int(r.heap.build.codeFlags)] = kind
	}
	for _, at := range []uint64{first, second, first} {
		r.codes.byStart = nil
		if c := r.codes.codeAt(fakeAt + at + r.heap.build.headerSize + 8); c == nil || c.kind != kindBaseline ||
			c.bytecodes == 0 {
			t.Errorf("code at %#x: %+v, want baseline code", at, c)
		}
	}
}
