// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

func TestOptimizedCodeThatWasReplacedAtItsStartIsFreed(t *testing.T) {
	b := make([]byte, 0x2000)
	r := fakeRuntime(version{12, 4}, b)
	put := func(at int, w uint64) { binary.LittleEndian.PutUint64(b[at:], w) }
	const stream, codeAt, deopt, info = 0x1000, 0x400, 0x600, 0x800
	const mapOfInfo, mapOfCode = 0x40, 0x60
	for at, typ := range map[int]uint16{mapOfInfo: fakeSFI, mapOfCode: fakeCode} {
		put(at, fakeAt+tag)
		binary.LittleEndian.PutUint16(b[at+instanceType:], typ)
	}
	put(info, fakeAt+mapOfInfo+tag)
	put(codeAt, fakeAt+mapOfCode+tag)
	compile := func(number uint64) uint64 {
		start := compilation(r, b, stream, codeAt, deopt, number)
		put(deopt, fakeAt+tag)
		put(deopt+16+8*r.layout.shared, fakeAt+info+tag)
		binary.LittleEndian.PutUint32(b[codeAt+int(r.layout.codeSize):], 0x100)
		return start
	}
	symbolize := func(ref managed.Ref) managed.Truth {
		_, truth := r.Symbolize(ref, r.live, nil)
		return truth
	}

	start := compile(7)
	if c := r.codeAt(start + 8); c == nil || c.function == nil {
		t.Fatalf("the code is read as %+v, want code of a function", c)
	}
	r.copiedAt = procmem.Now()
	refs, ok := r.appendCompiled(&frames.Frame{PC: start + 8}, 0, nil)
	if !ok || len(refs) != 1 || refs[0].Kind != refOptimized {
		t.Fatalf("the frame has %+v, %v; want optimized code", refs, ok)
	}
	if truth := symbolize(refs[0]); truth != managed.Checked {
		t.Errorf("unchanged code: truth %v, want %v", truth, managed.Checked)
	}
	compile(8)
	r.sorted = r.sorted[:0] // as when the cache is full
	if truth := symbolize(refs[0]); truth != managed.Freed {
		t.Errorf("code of a later compilation: truth %v, want %v", truth, managed.Freed)
	}
}
