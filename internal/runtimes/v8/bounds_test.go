// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"testing"

	"prywalk/internal/managed"
)

// Objects of a program can share a table, which is then read for each.
func TestTablesOfAllFunctionsAndCodesAreBounded(t *testing.T) {
	const count, table, infos, heads, codes = maxKept/maxTable + 3, 0x100000, 0x10000, 0x20000, 0x40000
	b := make([]byte, table+16+maxTable)
	r := fakeRuntime(version{14, 6}, b)
	start := fakeBaseline(r, b, bytecodesA)
	head := append([]byte{}, b[0x400:0x400+codeHead]...)
	stream := append([]byte{}, b[start-fakeAt-r.layout.head:start-fakeAt]...)
	put(b, table, pointer(mapOfCode))
	put(b, table+8, maxTable<<32)
	for i := range count {
		sfi, bytecodes := infos+0x100*i, heads+0x100*i
		fakeInfo(r, b, sfi, uint64(i), stringA, bytecodes)
		put(b, bytecodes, pointer(mapOfBytecodes))
		put(b, bytecodes+int(r.layout.bytesPositions), pointer(table))
		object, stream0 := codes+0x400*i, codes+0x400*i+0x100
		copy(b[object:], head)
		copy(b[stream0:], stream)
		put(b, stream0+8, pointer(object))
		put(b, object+int(r.layout.codeStart), fakeAt+uint64(stream0)+r.layout.head)
		put(b, object+int(r.layout.codePositions), pointer(table))
		if r.functionOf(pointer(sfi)) == nil || r.codeAt(fakeAt+uint64(stream0)+r.layout.head+4) == nil {
			t.Fatalf("object %d is not found", i)
		}
	}
	functions, code := 0, 0
	for _, f := range r.byInfo {
		functions += f.size()
	}
	for _, c := range r.byStart {
		code += c.size()
	}
	if functions == 0 || code == 0 || functions > maxKept+maxTable || code > maxKept || r.kept < functions {
		t.Errorf("%d bytes of functions, counted as %d, and %d of code are kept; want at most %d of each",
			functions, r.kept, code, maxKept)
	}
	r.kept = maxKept + 1 // by lines and classes
	r.Begin(&managed.Sample{At: 2, Live: r.live})
	if len(r.byInfo) != 0 || r.kept != 0 {
		t.Errorf("%d functions and %d bytes are kept; want none", len(r.byInfo), r.kept)
	}
}
