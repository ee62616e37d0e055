// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"
	"testing"

	"prywalk/internal/managed"
)

// compilation writes TurboFan code with a number.
func compilation(r *Runtime, b []byte, stream, code, deopt int, number uint64) uint64 {
	put := func(at int, w uint64) { binary.LittleEndian.PutUint64(b[at:], w) }
	put(0, fakeAt+heapObjectTag)
	binary.LittleEndian.PutUint16(b[instanceType:], fakeMap)
	put(0x20, fakeAt+heapObjectTag)
	binary.LittleEndian.PutUint16(b[0x20+instanceType:], fakeStream)
	start := fakeAt + uint64(stream) + r.build.headerSize
	put(stream, fakeAt+0x20+heapObjectTag)
	put(stream+8, fakeAt+uint64(code)+heapObjectTag)
	put(code+int(r.build.codeStart), start)
	put(code+int(r.build.codeDeopt), fakeAt+uint64(deopt)+heapObjectTag)
	for kind, name := range r.build.kinds {
		if name == "turbofan" {
			b[code+int(r.build.codeFlags)] = byte(kind)
		}
	}
	put(deopt+16+8*(r.build.shared-optimizedID), number<<32)
	return start
}

func TestScannerIdentifiesCompilationsByNumberAndAddress(t *testing.T) {
	for _, v := range []version{{11, 3}, {12, 4}, {13, 6}, {14, 6}} {
		b := make([]byte, 0x2000)
		r := fakeRuntime(v, b)
		at := 0x1000 - int(r.build.headerSize)%codeAligned
		start := compilation(r, b, at, 0x400, 0x600, 7)
		r.scanner.scanRange(managed.Span{Start: fakeAt, End: fakeAt + uint64(len(b))})
		since, ok := r.scanner.since(start, 7<<32)
		if !ok || since == 0 {
			t.Errorf("V8 %v: the code is not known: %v", v, r.scanner.seen)
		}
		if _, ok := r.scanner.since(start, 8<<32); ok {
			t.Errorf("V8 %v: another compilation is known to be at the same place", v)
		}
		r.scanner.scanRange(managed.Span{Start: fakeAt, End: fakeAt + uint64(len(b))})
		if again, _ := r.scanner.since(start, 7<<32); again != since {
			t.Errorf("V8 %v: the code is there since %d, a second scan says %d", v, since, again)
		}
		compilation(r, b, at, 0x400, 0x600, 8)
		r.scanner.scanRange(managed.Span{Start: fakeAt, End: fakeAt + uint64(len(b))})
		if _, ok := r.scanner.since(start, 7<<32); ok {
			t.Errorf("V8 %v: code that has gone is still known", v)
		}
	}
}
