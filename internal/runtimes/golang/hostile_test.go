// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/symbolized"
)

// The excerpt has one function of every flag.
func excerpt(magic uint32, q byte) []byte {
	b := make([]byte, 512)
	binary.LittleEndian.PutUint32(b, magic)
	b[6], b[7] = q, 8
	words := []uint64{1, 1, 0x1000, 72, 104, 112, 128, 160}
	if magic == magic116 {
		words = append(words[:2:2], words[3:]...)
	}
	for i, w := range words {
		binary.LittleEndian.PutUint64(b[8+8*i:], w)
	}
	copy(b[72:], "\x00main.f\x00main.g\x00runtime.mcall\x00")
	copy(b[112:], "f.go\x00")
	copy(b[128:], "\x00\x02\x04\x20\x1c\x00") // at 1: 0 for 4 quanta, then 16
	copy(b[137:], "\x02\x20\x00")             // at 9: 0 throughout
	fns := b[160:]
	rec := fns[64:]
	if magic == magic116 {
		for i, w := range []uint64{0x1000, 64, 0x1020} {
			binary.LittleEndian.PutUint64(fns[8*i:], w)
		}
		binary.LittleEndian.PutUint64(rec, 0x1000)
		rec = rec[4:]
	} else {
		for i, w := range []uint32{0, 64, 0x20} {
			binary.LittleEndian.PutUint32(fns[4*i:], w)
		}
	}
	for i, w := range []uint32{1, 0, 0, 1, 9, 1, 0, 0} {
		binary.LittleEndian.PutUint32(rec[4+4*i:], w)
	}
	return b
}

func excerpt112(q byte) []byte {
	b := make([]byte, 512)
	binary.LittleEndian.PutUint32(b, magic112)
	b[6], b[7] = q, 8
	for i, w := range []uint64{1, 0x1000, 160, 0x1020, 144} { // number, function, end, files
		binary.LittleEndian.PutUint64(b[8+8*i:], w)
	}
	copy(b[72:], "\x00main.f\x00main.g\x00runtime.mcall\x00")
	copy(b[112:], "f.go\x00")
	copy(b[128:], "\x00\x02\x04\x20\x1c\x00")
	copy(b[137:], "\x04\x20\x00")
	for i, w := range []uint32{2, 112} { // the first file is none
		binary.LittleEndian.PutUint32(b[144+4*i:], w)
	}
	binary.LittleEndian.PutUint64(b[160:], 0x1000)
	for i, w := range []uint32{73, 0, 0, 129, 137, 129, 0} {
		binary.LittleEndian.PutUint32(b[168+4*i:], w)
	}
	return b
}

func probe(im Image, seed uint64) error {
	tab, err := New(im)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	end, _, _ := tab.ftab(tab.h.nfunc)
	var lines []symbolized.Frame
	for i := range uint64(64) {
		pc := tab.text + i
		if i >= 16 && end > tab.text {
			pc = tab.text + rng.Uint64N(end-tab.text)
		}
		for _, q := range []frames.Query{{PC: pc}, {PC: pc, AfterCall: true}, {PC: pc, AfterCall: true, SPOnly: true}} {
			tab.Rule(q)
		}
		lines = tab.Lines(pc, lines[:0])
		tab.FuncRange(pc)
	}
	tab.GOffsets()
	return nil
}

func FuzzTable(f *testing.F) {
	for _, m := range []uint32{magic116, magic118, magic120} {
		f.Add(excerpt(m, 1), uint64(0x1000), false)
		f.Add(excerpt(m, 4), uint64(0x1000), true)
	}
	f.Add(excerpt112(1), uint64(0x1000), false)
	f.Add(excerpt112(4), uint64(0x1000), true)
	f.Fuzz(func(t *testing.T, tab []byte, text uint64, arm bool) {
		im := Image{Arch: frames.X86_64, Pclntab: tab, PclntabAddr: 0x5000, TextStart: text, Rela: tab,
			Data: []Range{{0x5000, uint64(len(tab))}, {0, 1 << 40}},
			Read: func(addr uint64, buf []byte) int {
				if off := addr - 0x1000; off < uint64(len(tab)) {
					return copy(buf, tab[off:])
				}
				return 0
			}}
		if arm {
			im.Arch = frames.ARM64
		}
		if err := probe(im, text); err != nil && !errors.Is(err, ErrNoTable) && !errors.Is(err, ErrMalformed) &&
			!errors.Is(err, ErrNoText) {
			t.Errorf("untyped error %v", err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{0x64, 0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff})
	f.Add([]byte{0x62, 0xf1, 0x7c, 0x48, 0x10, 0x84, 0x24, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, b []byte) {
		if in, ok := decode(b); ok && (in.Size == 0 || int(in.Size) > len(b)) {
			t.Fatalf("size %d of %d", in.Size, len(b))
		}
		flow := &stackFlow{}
		if flow.decode(b) {
			flow.forward()
			flow.backward()
		}
	})
}

func TestDamagedProgramsAreReadWithoutPanic(t *testing.T) {
	for _, env := range [][]string{noCgo, forARM} {
		im, _ := image(t, build(t, source, env))
		good := im.Pclntab
		for seed := range uint64(40) {
			rng := rand.New(rand.NewPCG(seed, 2))
			bad := append([]byte(nil), good...)
			for range 1 << (seed % 14) {
				bad[rng.IntN(len(bad))] = byte(rng.Uint32())
			}
			copy(bad[:8], good)
			im.Pclntab = bad
			probe(im, seed)
		}
		for n := 0; n < len(good); n += len(good)/50 + 1 {
			im.Pclntab = good[:n]
			probe(im, uint64(n))
		}
	}
}

func TestOlderFormatsAreRead(t *testing.T) {
	for m, b := range map[uint32][]byte{magic112: excerpt112(1), magic116: excerpt(magic116, 1),
		magic118: excerpt(magic118, 1), magic120: excerpt(magic120, 1)} {
		tab, err := New(Image{Arch: frames.X86_64, Pclntab: b, PclntabAddr: 0x5000})
		if err != nil {
			t.Fatalf("%#x: %v", m, err)
		}
		if l := tab.Lines(0x1005, nil); len(l) != 1 || l[0].Name != "main.f" || l[0].File != "f.go" {
			t.Errorf("%#x: lines %+v", m, l)
		}
		if s, e, ok := tab.FuncRange(0x101f); !ok || s != 0x1000 || e != 0x1020 {
			t.Errorf("%#x: range %#x %#x %v", m, s, e, ok)
		}
		for pc, want := range map[uint64]int32{0x1001: 8, 0x1003: 8, 0x1005: 24, 0x100f: 24} {
			if r, _, ok := tab.Rule(frames.Query{PC: pc}); !ok || r.CFAOff != want {
				t.Errorf("%#x: rule at %#x: %+v %v, want CFA rsp+%d", m, pc, r, ok, want)
			}
		}
	}
}

// The expected offsets are DWARF's.
func TestLayoutIsFoundInTheCode(t *testing.T) {
	for _, v := range append(variants(), older(t)...) {
		tab, f := open(t, build(t, v.src, v.env, v.args...))
		c, ok := tab.GOffsets()
		if !ok {
			t.Errorf("%s: not found: %+v", v.name, c)
			continue
		}
		d, err := f.DWARF()
		if err != nil {
			t.Fatal(err)
		}
		g, m, gobuf := members(t, d, "runtime.g"), members(t, d, "runtime.m"), members(t, d, "runtime.gobuf")
		status, start := g["atomicstatus"], g["startpc"]
		want := map[string][2]int64{
			"g.m": {c.GM, g["m"]}, "g.sched": {c.SchedSP, g["sched"]}, "g.stack": {c.GStackLo, g["stack"]},
			"m.curg": {c.MCurg, m["curg"]}, "m.g0": {c.MG0, m["g0"]}, "m.gsignal": {c.MGsignal, m["gsignal"]},
			"g.sched.sp": {c.SchedSP, g["sched"] + gobuf["sp"]}, "g.sched.pc": {c.SchedPC, g["sched"] + gobuf["pc"]},
			"g.sched.bp": {c.SchedBP, g["sched"] + gobuf["bp"]},
			"g.goid":     {status + afterStatusGoid, g["goid"]}, "g.waitsince": {status + afterStatusSince, g["waitsince"]},
			"g.waitreason": {status + afterStatusReason, g["waitreason"]}, "g.gopc": {start - beforeStartGoPC, g["gopc"]},
			"g.waiting": {start + afterStartWaiting, g["waiting"]}, "g.labels": {start + afterStartLabels, g["labels"]},
		}
		if !strings.HasPrefix(v.name, "go1.") { // since Go 1.21
			want["g.parentGoid"] = [2]int64{start - beforeStartParent, g["parentGoid"]}
		}
		for field, offsets := range want {
			if offsets[0] != offsets[1] {
				t.Errorf("%s: %s at %d, DWARF says %d", v.name, field, offsets[0], offsets[1])
			}
		}
		if tab.img.Arch == frames.X86_64 && (!c.HasTLS || c.TLS >= 0 || c.TLS%8 != 0) && c.TLSSlot == 0 {
			t.Errorf("%s: thread-local storage: %+v", v.name, c)
		}
	}
}

func BenchmarkRule(b *testing.B) {
	tab, _ := open(b, build(b, source, noCgo))
	end, _, _ := tab.ftab(tab.h.nfunc)
	span := end - tab.text
	b.ReportAllocs()
	i := uint64(0)
	for b.Loop() {
		i += 7919
		tab.Rule(frames.Query{PC: tab.text + i%span, AfterCall: true})
	}
}

func BenchmarkLines(b *testing.B) {
	tab, _ := open(b, build(b, source, noCgo))
	end, _, _ := tab.ftab(tab.h.nfunc)
	span := end - tab.text
	b.ReportAllocs()
	var out []symbolized.Frame
	i := uint64(0)
	for b.Loop() {
		i += 7919
		out = tab.Lines(tab.text+i%span, out[:0])
	}
}

func BenchmarkNew(b *testing.B) {
	im, _ := image(b, build(b, source, noCgo))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(im); err != nil {
			b.Fatal(err)
		}
	}
}

// A program's instructions may name any offset.
func TestOffsetsBeyondACopiedGoroutineAreRefused(t *testing.T) {
	known := GOffsets{GReg: 28, GStackHi: 8, GM: 0x30, SchedSP: 0x38, SchedPC: 0x40, SchedLR: 0x60, SchedBP: 0x68,
		MGsignal: 0x50, MCurg: 0xb8}
	if !known.plausible() {
		t.Fatalf("%+v is refused; it is Go's on arm64", known)
	}
	for _, off := range []int64{8, goroutineBytes - 4, goroutineBytes, 32760} {
		c := known
		c.SchedLR = off
		if c.plausible() {
			t.Errorf("sched.lr at %d is accepted", off)
		}
	}
}
