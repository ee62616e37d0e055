// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"prywalk/frames"
	"prywalk/internal/base/sample"
)

// The excerpt has one function of every flag.
func excerpt(magic uint32, q byte) []byte {
	b := make([]byte, 512)
	binary.LittleEndian.PutUint32(b, magic)
	b[6], b[7] = q, 8
	words := []uint64{1, 1, 0x1000, 72, 104, 112, 128, 160}
	for i, w := range words {
		binary.LittleEndian.PutUint64(b[8+8*i:], w)
	}
	copy(b[72:], "\x00main.f\x00main.g\x00runtime.mcall\x00")
	copy(b[112:], "f.go\x00")
	copy(b[128:], "\x00\x02\x04\x20\x1c\x00") // at 1: 0 for 4 quanta, then 16
	copy(b[137:], "\x02\x20\x00")             // at 9: 0 throughout
	fns := b[160:]
	rec := fns[64:]
	for i, w := range []uint32{0, 64, 0x20} {
		binary.LittleEndian.PutUint32(fns[4*i:], w)
	}
	for i, w := range []uint32{1, 0, 0, 1, 9, 1, 0, 0} {
		binary.LittleEndian.PutUint32(rec[4+4*i:], w)
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
	var lines []sample.Frame
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
		if err := probe(im, text); err != nil && !errors.Is(err, errNoTable) && !errors.Is(err, errMalformed) &&
			!errors.Is(err, errNoText) {
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
		if a := newAnalysisX86(nil, keptByAssembly); len(b) > 0 {
			if p := a.at(b, 0x1000, 0x1000+uint64(len(b)-1), false); p != nil {
				a.popsToReturn(p, b, 0x1000, 0x1000)
			}
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
