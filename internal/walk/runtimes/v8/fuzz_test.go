// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

type memory struct {
	at uint64
	b  []byte
}

func (m memory) Read(addr uint64, b []byte) int {
	if addr < m.at || addr-m.at >= uint64(len(m.b)) {
		return 0
	}
	return copy(b, m.b[addr-m.at:])
}

func (memory) Unchanged() bool { return false }

type fakeHost struct {
	managed.Host
	memory
}

func (h fakeHost) Read(addr uint64, b []byte) int { return h.memory.Read(addr, b) }
func (fakeHost) Arch() frames.Arch                { return frames.X86_64 }

const (
	fakeAt  = 0x100000
	fakeTop = 0x10000
	fakeMap = 100 + iota
	fakeSFI
	fakeScript
	fakeScope
	fakeBytecodes
	fakeCode
	fakeStream
	fakeArray
	fakeFunction
)

func fakeRuntime(v version, b []byte) *Runtime {
	d := &v8Build{layout: layoutOf(v), version: v, code: managed.Span{Start: 0x1000, End: 0x2000}}
	d.types = types{
		firstFunction: fakeFunction, lastFunction: fakeFunction, sfi: fakeSFI, script: fakeScript, scope: fakeScope,
		bytecodes: fakeBytecodes, code: fakeCode, instructionStream: fakeStream, mapType: fakeMap, fixedArray: fakeArray,
	}
	if d.codeStart == 0 {
		d.types.instructionStream = fakeCode
	}
	m := memory{fakeAt, b}
	r := newRuntime(fakeHost{memory: m}, &frames.Module{Name: "/node"}, d)
	r.heap.live, r.functions.copiedAt = m, 1
	return r
}

func FuzzMemory(f *testing.F) {
	f.Add(seed(), uint8(0), uint64(fakeAt+0x101))
	f.Add(seed(), uint8(5), uint64(fakeAt+0x201))
	f.Fuzz(func(t *testing.T, b []byte, release uint8, word uint64) {
		if len(b) > fakeTop {
			return
		}
		all := []version{{9, 4}, {10, 2}, {11, 3}, {12, 4}, {12, 9}, {13, 6}, {14, 6}}
		r := fakeRuntime(all[int(release)%len(all)], b)
		words := []uint64{word, fakeAt + 0x101}
		for i := 0; i+8 <= min(len(b), 64); i += 8 {
			words = append(words, binary.LittleEndian.Uint64(b[i:]))
		}
		for _, w := range words {
			r.heap.text(w)
			r.functions.functionOf(w)
			r.functions.scriptOf(w)
			r.functions.bytecodesOf(w)
			r.codes.codeAt(w &^ 3)
			if c := r.codes.readCodeObject(w | 1); c != nil {
				made := &code{function: &function{}, positions: c.positions, inlined: c.inlined, kind: "turbofan"}
				r.appendOptimized(made, 5, nil)
			}
			r.functions.listFunctions()
			r.codes.places.record(w&^7, 7)
		}
		stack := &frames.Snapshot{Stack: frames.Region{Addr: fakeAt, Bytes: b}, StackEnd: fakeAt + uint64(len(b))}
		r.Begin(&managed.Sample{Regs: &frames.Regs{Arch: frames.X86_64}, Mem: stack, At: 1, Live: r.heap.live})
		for _, m := range []*frames.Module{{Generated: true}, {Name: "/node"}} {
			for _, fp := range words {
				refs, _ := r.ManagedFrames(&frames.Frame{PC: 0x1100, FP: fp, Module: m, AfterCall: fp&8 != 0}, fp+16, nil)
				refs, _ = r.ManagedFrames(&frames.Frame{PC: fp, FP: fp, Module: m}, fp+16, refs)
				for _, ref := range refs {
					r.Symbolize(ref, r.heap.live, nil)
				}
			}
		}
	})
}

func FuzzTables(f *testing.F) {
	f.Add([]byte{1, 0x8c, 8, 2, 0x2c, 9, 0x20}, []byte{0, 5, 5, 1, 7}, 9, true)
	f.Fuzz(func(t *testing.T, table, bytecodes []byte, place int, flags bool) {
		p, _ := positionAt(table, flags, place)
		_, _ = p.offset(), p.inlined()
		sizes := make([]byte, 3*200)
		for i := range sizes {
			sizes[i] = byte(i % 5)
		}
		if at, ok := bytecodeAt(table, bytecodes, sizes, place); ok && at >= len(bytecodes) {
			t.Errorf("offset %d of %d bytes", at, len(bytecodes))
		}
	})
}

func seed() []byte {
	b := make([]byte, 0x1000)
	put := func(at int, w uint64) { binary.LittleEndian.PutUint64(b[at:], w) }
	mapAt := func(typ uint16, at int) {
		put(at, fakeAt+1)
		binary.LittleEndian.PutUint16(b[at+instanceType:], typ)
	}
	mapAt(fakeMap, 0)
	for i, typ := range []uint16{
		fakeSFI, fakeScript, fakeScope, fakeBytecodes, fakeCode, fakeStream, fakeArray, fakeFunction,
		consString | oneByteString, thinString, slicedString, 0x20 | oneByteString,
	} {
		mapAt(typ, 0x20+0x10*i)
		put(0x100+0x100*i, fakeAt+0x20+0x10*uint64(i)+1)
		for j := 1; j < 20; j++ {
			put(0x100+0x100*i+8*j, fakeAt+0x100+0x100*uint64((i+j)%12)+1)
		}
	}
	return b
}
