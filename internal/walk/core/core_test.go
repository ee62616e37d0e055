// SPDX-License-Identifier: Apache-2.0

package core

import (
	"bytes"
	"debug/elf"
	"errors"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/elffile"
)

func smallCore() *writer {
	w := &writer{machine: uint16(elf.EM_X86_64)}
	r := frames.Regs{Arch: frames.X86_64, PC: 0x401000}
	r.Set(frames.X86RSP, 0x7fff_0000)
	r.Set(frames.X86RBP, 0x7fff_0010)
	w.thread(7, &r)
	w.process(7, "small")
	w.note("CORE", noteAuxv, words(auxEntry, 0x401000, auxSysinfoEhdr, 0x7ff0_0000, 0, 0))
	w.files(fileMap{0x400000, 0x401000, 0, "/bin/true"}, fileMap{0x401000, 0x402000, 0x1000, "/bin/true"})
	w.loads = []load{
		{0x400000, 0x1000, 4, nil},
		{0x401000, 0x1000, 5, nil},
		{0x7ff0_0000, 0x1000, 5, []byte("\x7fELF")},
		{0x7ffe_f000, 0x2000, 7, append(make([]byte, 0x1000), words(1, 2, 0x7fff_0020, 0x401010)...)},
	}
	return w
}

func TestFilesThatAreNoCoresSayCauseAndNextStep(t *testing.T) {
	core := smallCore().bytes()
	with := func(off int, v ...byte) []byte {
		b := bytes.Clone(core)
		copy(b[off:], v)
		return b
	}
	bare := &writer{machine: uint16(elf.EM_X86_64)}
	for _, c := range []struct {
		name, want string
		is         error
		data       []byte
	}{
		{"empty", "empty", elffile.ErrNotELF, nil},
		{"text", "not a core file", elffile.ErrNotELF, []byte("hello, world")},
		{"zstd", "zstd -d", elffile.ErrNotELF, []byte("\x28\xb5\x2f\xfd........")},
		{"gzip", "gunzip", elffile.ErrNotELF, []byte("\x1f\x8b........")},
		{"32-bit", "32-bit", elffile.ErrClass32, with(4, 1)},
		{"big-endian", "another processor", elffile.ErrMachine, with(5, 2)},
		{"riscv", "another processor", elffile.ErrMachine, with(18, 243)},
		{"program", "not a core", nil, with(16, 3)},
		{"header cut off", "cut off", nil, core[:40]},
		{"program headers cut off", "cut off", nil, core[:100]},
		{"registers cut off", "cut off before its registers", nil, core[:64+5*56+50]},
		{"no threads", "no threads", nil, bare.bytes()},
	} {
		_, err := Open(bytes.NewReader(c.data), int64(len(c.data)), "")
		var ce *Error
		if !errors.As(err, &ce) || ce.Next == "" || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v is not %v", c.name, err, c.is)
		}
	}
}

// Threads and pieces of memory are found by their numbers and addresses, of as many as a core may have.
func TestEachOf50000ThreadsOfACoreHasItsStack(t *testing.T) {
	const threads, first, apart = 50000, 0x10000, 0x2000
	w := &writer{machine: uint16(elf.EM_X86_64)}
	for i := range uint64(threads) {
		r := frames.Regs{Arch: frames.X86_64, PC: 0x1000}
		r.Set(frames.X86RSP, first+i*apart)
		w.thread(int(i)+1, &r)
		w.loads = append(w.loads, load{first + i*apart, 0x1000, 6, words(i)})
	}
	c := openBytes(t, w.bytes(), t.TempDir())
	if n := len(c.Threads()); n != threads {
		t.Fatalf("%d threads, want %d", n, threads)
	}
	for i, th := range c.Threads() {
		if v, ok := c.Memory().Word(th.Regs.SP()); !ok || v != uint64(i) || th.TID != i+1 {
			t.Fatalf("thread %d, number %d: %d, %v at its stack pointer", th.TID, i, v, ok)
		}
	}
}

func TestWordsOfACoreAtTheEdgesOfItsPieces(t *testing.T) {
	w := &writer{machine: uint16(elf.EM_X86_64)}
	w.thread(1, &frames.Regs{Arch: frames.X86_64})
	ramp := make([]byte, 0x3000)
	for i := range ramp {
		ramp[i] = byte(i * 7)
	}
	w.loads = []load{
		{0x10000, 0x1000, 6, ramp[:0x1000]}, {0x11000, 0x1000, 6, ramp[0x1000:0x2000]},
		{0x20800, 0x100, 6, ramp[:0x100]},
		{0x30000, 0x2000, 6, ramp[:0x804]},
	}
	m := openBytes(t, w.bytes(), t.TempDir()).Memory()
	for _, c := range []struct {
		addr    uint64
		ok, cut bool
		at      int
	}{
		{0x10000, true, false, 0}, {0x10ffc, true, false, 0xffc}, {0x11ff8, true, false, 0x1ff8},
		{0x11ffc, false, false, 0}, {0x12000, false, false, 0}, {0xfffc, false, false, 0}, {0, false, false, 0},
		{^uint64(0), false, false, 0},
		{0x20800, true, false, 0}, {0x208f8, true, false, 0xf8}, {0x208f9, false, false, 0}, {0x207ff, false, false, 0},
		{0x20803, true, false, 3},
		{0x307fc, true, false, 0x7fc}, {0x307fd, false, true, 0}, {0x31ff8, false, true, 0},
	} {
		for range 2 {
			v, ok := m.Word(c.addr)
			if ok != c.ok || ok && v != le.Uint64(ramp[c.at:]) {
				t.Errorf("%#x: %#x, %v", c.addr, v, ok)
			}
			if !ok && m.Cut(c.addr) != c.cut {
				t.Errorf("%#x: cut %v", c.addr, !c.cut)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(smallCore().bytes())
	f.Add(smallCore().bytes()[:700])
	p := buildArm(f, f.TempDir())
	f.Add(p.core("/chain").bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Open(bytes.NewReader(b), int64(len(b)), "/nonexistent")
		if err != nil {
			return
		}
		c.Warnings()
		ths := c.Threads()
		for i := range ths[:min(len(ths), 8)] {
			walkCore(c, &ths[i], 200)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkWords(b *testing.B) {
	w := &writer{machine: uint16(elf.EM_X86_64)}
	w.thread(1, &frames.Regs{Arch: frames.X86_64})
	w.loads = []load{{0x10000, 1 << 16, 6, make([]byte, 1<<16)}}
	m := openBytes(b, w.bytes(), b.TempDir()).Memory()
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i += 8 {
		if _, ok := m.Word(0x10000 + i&0xfff8); !ok {
			b.Fatal("no word")
		}
	}
}
