// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
)

type image struct {
	at    uint64
	bytes []byte
}

func (img *image) Read(addr uint64, b []byte) int {
	if addr < img.at || addr-img.at >= uint64(len(img.bytes)) {
		return 0
	}
	return copy(b, img.bytes[addr-img.at:])
}

func (img *image) Word(addr uint64) (uint64, bool) {
	var b [8]byte
	ok := img.Read(addr, b[:]) == 8
	return binary.LittleEndian.Uint64(b[:]), ok
}

var libpython = []*frames.Module{{Name: "/lib/libpython3.9.so"}}

func (img *image) Cut(uint64) bool                                       { return false }
func (img *image) Unchanged() bool                                       { return len(img.bytes)%2 == 0 }
func (img *image) Arch() frames.Arch                                     { return frames.X86_64 }
func (img *image) Modules() []*frames.Module                             { return libpython }
func (img *image) ReadCode(addr uint64, b []byte) int                    { return img.Read(addr, b) }
func (img *image) CodeAnalysis() *heuristics.Source                      { return nil }
func (img *image) Member(*frames.Module, string, string) (int64, bool)   { return 0, false }
func (img *image) Section(*frames.Module, string) (uint64, []byte, bool) { return 0, nil, false }
func (img *image) OwnSymbols(*frames.Module, ...string) []managed.Symbol { return nil }

func (img *image) Symbol(_ *frames.Module, name string) (uint64, uint64, bool) {
	switch name {
	case symRuntime:
		return img.at, 64, true
	case symCode:
		return img.at + 64, 408, true
	case symVersion:
		return img.at + 8, 4, len(img.bytes)%3 == 0
	case symEvalFrame:
		return img.at + 1<<20, 1 << 12, true
	case "PyDict_Type", "PyModule_Type", "PyUnicode_Type", "PyCoro_Type", "PyLong_Type":
		v, _ := img.Word(img.at + 72)
		return v, 408, true
	}
	return 0, 0, false
}

type still struct{}

func (still) Mark([]int) bool { return true }
func (still) Slept() bool     { return true }

func walkAll(r *Runtime, m *image) {
	regs := frames.Regs{Arch: frames.X86_64}
	regs.Set(frames.X86_64.SP(), m.at+256)
	r.Begin(&managed.Sample{InnerTID: 7, Regs: &regs, Mem: m, At: 1, Live: m})
	var out []managed.Ref
	for sp := m.at + 256; sp < m.at+2048; sp += 256 {
		out, _ = r.ManagedFrames(&frames.Frame{PC: m.at + 1<<20 + 8, SP: sp, AfterCall: sp > m.at+256}, sp+256, out)
	}
	r.ManagedFrames(&frames.Frame{PC: 1, SP: m.at + 2048}, managed.Outermost, out)
	r.End()
	for _, ref := range out {
		r.Symbolize(ref, m, nil)
	}
	r.Anchor(7, 0)
	r.Anchor(7, m.at)
	r.ThreadName(7)
	r.Coroutines(still{})
	o := r.python.objects()
	o.get(o.entries(m.at), "threading")
	o.attribute(m.at+64, "_name")
}

func FuzzWalk(f *testing.F) {
	f.Add(make([]byte, 4096), uint64(1<<32), uint8(12))
	self := make([]byte, 4096) // each word points to the first
	for i := 0; i < len(self); i += 8 {
		binary.LittleEndian.PutUint64(self[i:], 1<<32)
	}
	f.Add(self, uint64(1<<32), uint8(10))
	f.Add(self, uint64(1<<32), uint8(11))
	for _, minor := range []string{"13", "14", "14t", "15"} {
		f.Add(append(debugOffsets(f, minor), self...), uint64(1<<32), uint8(13))
	}
	f.Fuzz(func(_ *testing.T, b []byte, at uint64, minor uint8) {
		m := &image{at, b}
		if rt, err := Detect(m); err == nil && rt != nil {
			walkAll(rt.(*Runtime), m)
		}
		l, ok := layouts[8+int(minor%6)]
		if !ok {
			if l, ok = layoutOfDebugOffsets(b); !ok {
				return
			}
		}
		loop := managed.Span{Start: at + 1<<20, End: at + 1<<20 + 4096}
		r := newParts(&interpreter{layout: l, at: at, host: m, evalLoop: []managed.Span{loop}})
		r.python.codeType = at + 64
		r.python.findTypes()
		r.threads.list = []thread{{at: at, id: at, native: 7}}
		walkAll(r, m)
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte{0x80, 0, 0xf8, 1, 0xff}, 1, 2)
	f.Fuzz(func(_ *testing.T, table []byte, first, offset int) {
		for minor := 8; minor <= 15; minor++ {
			lineOf(minor, table, first, offset)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add([]byte("name"), 1)
	f.Fuzz(func(_ *testing.T, b []byte, kind int) {
		decodeText(b, []int{1, 2, 4}[uint(kind)%3])
	})
}
