// SPDX-License-Identifier: Apache-2.0

package core

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/elffile"
	"prywalk/internal/host/filememory"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

const (
	pacBits  = 0x007f_0000_0000_0000
	pacInsn  = 0x0012_0000_0000_0000 // a possible signature
	armStack = 0xffff_f000_0000
)

type armProgram struct {
	file    string
	load    elffile.Segment
	symbols map[string]uint64
}

func buildArm(t testing.TB, dir string) *armProgram {
	t.Helper()
	cc := testtargets.NeedProgram(t, "aarch64-linux-gnu-gcc")
	p := &armProgram{file: filepath.Join(dir, "chain"), symbols: map[string]uint64{}}
	out, err := bounded.AllOutput(exec.Command(cc, "-nostdlib", "-static", "-Wl,--build-id", "-o", p.file,
		"testdata/chain_aarch64.s"))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elffile.Open(strings.NewReader(string(b)), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(f.Segments, func(s elffile.Segment) bool { return s.Type == elf.PT_LOAD && s.Off == 0 })
	p.load = f.Segments[i]
	syms, err := f.Symbols(elffile.SymTab)
	if err != nil {
		t.Fatal(err)
	}
	for i := range syms {
		p.symbols[f.SymbolName(elffile.SymTab, &syms[i])] = syms[i].Value
	}
	return p
}

func (p *armProgram) core(path string, more ...fileMap) *writer {
	w := &writer{machine: uint16(elf.EM_AARCH64)}
	sym := p.symbols
	stack := words(
		armStack+48, sym["in_middle"], 77, 0, 0, 0, // leaf: x29, x30, x19
		0, sym["in_outer"]|pacInsn, 0, 0, // middle: x29, signed x30
		0, sym["in_start"], 0, 0, 0, 0, 0, 0, // outer
		0, 0, 0, 0)
	deep := frames.Regs{Arch: frames.ARM64, PC: sym["in_leaf"]}
	deep.Set(frames.ARM64SP, armStack)
	deep.Set(frames.ARM64FP, armStack)
	entry := frames.Regs{Arch: frames.ARM64, PC: sym["leaf"]}
	entry.Set(frames.ARM64SP, armStack+48)
	entry.Set(frames.ARM64FP, armStack+48)
	entry.Set(frames.ARM64LR, sym["in_middle"])
	for i, r := range []*frames.Regs{&deep, &entry} {
		w.thread(100+i, r)
		if i == 0 {
			w.process(100, "chain")
		}
		w.note("LINUX", noteARMPAC, words(pacBits, pacBits))
		w.note("LINUX", noteARMTLS, words(0x1234))
		w.note("LINUX", noteARMSyscall, []byte{0xff, 0xff, 0xff, 0xff})
	}
	size := (p.load.FileSize + 4095) &^ 4095
	w.files(append(more, fileMap{p.load.VAddr, p.load.VAddr + size, 0, path})...)
	b, _ := os.ReadFile(p.file)
	w.loads = []load{
		{p.load.VAddr, size, 5, append(b, make([]byte, 4096)...)[:4096]},
		{armStack, 4096, 6, append(stack, make([]byte, 4096-len(stack))...)},
	}
	return w
}

func (p *armProgram) chain() []uint64 {
	var out []uint64
	for _, name := range []string{"in_leaf", "in_middle", "in_outer", "in_start"} {
		out = append(out, p.symbols[name])
	}
	return out
}

func TestCoreOfArm64IsWalkedOnAnyMachine(t *testing.T) {
	root := t.TempDir()
	p := buildArm(t, root)
	c := openBytes(t, p.core("/chain").bytes(), root)
	if w := c.Warnings(); len(w) > 0 {
		t.Errorf("warnings %q", w)
	}
	if c.PID != 100 || c.Comm != "chain" || c.Arch != frames.ARM64 || len(c.Threads()) != 2 {
		t.Fatalf("pid %d, comm %q, arch %v, %d threads", c.PID, c.Comm, c.Arch, len(c.Threads()))
	}
	want := p.chain()
	for i := range c.Threads() {
		th := &c.Threads()[i]
		if th.Regs.TLS != 0x1234 || th.Regs.PACMask != pacBits || th.Syscall != -1 || th.TID != 100+i {
			t.Errorf("thread %+v", th)
		}
		got, stop := walkCore(c, th, 0)
		if !slices.Equal(got, want) || stop != frames.StopRoot {
			t.Errorf("thread %d: %#x, %v; want %#x", th.TID, got, stop, want)
		}
		want[0] = p.symbols["leaf"]
	}
}

func TestStackMissingFromACoreIsCutNotGuessed(t *testing.T) {
	root := t.TempDir()
	p := buildArm(t, root)
	w := p.core("/chain")
	whole := w.bytes()
	for _, left := range []int{4096 - 8, 8 * 14, 8 * 8, 8 * 2, 8} {
		b := whole[:len(whole)-4096+left]
		c := openBytes(t, b, root)
		if warned := c.Warnings(); len(warned) != 1 || !strings.Contains(warned[0], "cut off") {
			t.Errorf("%d: warnings %q", left, warned)
		}
		got, stop := walkCore(c, &c.Threads()[0], 0)
		if want := p.chain(); len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			t.Errorf("%d: %#x, want the beginning of %#x", left, got, want)
		} else if whole := left > 8*11; whole != (stop == frames.StopRoot) || !whole && stop != frames.StopStackCut {
			t.Errorf("%d: %#x, %v", left, got, stop)
		}
	}
}

func TestCoreLeavesOutWhatFilesHave(t *testing.T) {
	root := t.TempDir()
	p := buildArm(t, root)
	w := p.core("/chain")
	w.loads[0].data = w.loads[0].data[:p.symbols["_start"]-p.load.VAddr]
	c := openBytes(t, w.bytes(), root)
	if v, ok := c.Memory().Word(p.symbols["leaf"]); !ok || v>>32 != 0x910003fd { // mov x29, sp
		t.Errorf("leaf has %#x, %v", v, ok)
	}
	got, _ := walkCore(c, &c.Threads()[0], 0)
	if !slices.Equal(got, p.chain()) {
		t.Errorf("%#x", got)
	}
	alone := openBytes(t, w.bytes(), t.TempDir())
	if v, ok := alone.Memory().Word(p.symbols["leaf"]); ok {
		t.Errorf("without the file leaf has %#x", v)
	}
	if warned := alone.Warnings(); len(warned) != 1 || !strings.Contains(warned[0], "not found: /chain") {
		t.Errorf("warnings %q", warned)
	}
	byRecords := p.chain()[:3] // outer keeps none
	got, stop := walkCore(alone, &alone.Threads()[0], 0)
	if !slices.Equal(got, byRecords) || stop != frames.StopNoRule {
		t.Errorf("without the file: %#x, %v, want %#x", got, stop, byRecords)
	}
}

func TestCodeInTheCoreNeedsNoFile(t *testing.T) {
	p := buildArm(t, t.TempDir())
	c := openBytes(t, p.core("/chain").bytes(), t.TempDir())
	if got, stop := walkCore(c, &c.Threads()[0], 0); !slices.Equal(got, p.chain()) || stop != frames.StopRoot {
		t.Errorf("%#x, %v", got, stop)
	}
}

func TestDeletedFilesOfOnePathHaveTheirOwnImages(t *testing.T) {
	const path, apart = "/chain (deleted)", 1 << 32
	p := buildArm(t, t.TempDir())
	at := p.load.VAddr + apart
	w := p.core(path, fileMap{at, at + 4096, 0, path})
	other := bytes.Clone(w.loads[0].data)
	id := bytes.Index(other, []byte("GNU\x00")) + 4
	clear(other[id : id+20])
	w.loads = append(w.loads, load{at, 4096, 5, other})
	c := openBytes(t, w.bytes(), t.TempDir())
	for at, want := range map[uint64]bool{p.load.VAddr: false, at: true} {
		m := c.Space().ModuleAt(at)
		if m == nil || len(m.BuildID) != 40 || (m.BuildID == strings.Repeat("0", 40)) != want {
			t.Errorf("%#x: %+v", at, m)
		}
	}
}

func TestCoreGivesMemoryOfFilesBack(t *testing.T) {
	root := t.TempDir()
	p := buildArm(t, root)
	b := p.core("/chain").bytes()
	for from, sysroot := range map[string]string{"the file": root, "the core": t.TempDir()} {
		before := filememory.Process().Used()
		c := openBytes(t, b, sysroot)
		walkCore(c, &c.Threads()[0], 0)
		var images int64
		for i := range c.files {
			if img := c.files[i].img; img != nil {
				images += img.ELF.Memory().Used()
			}
		}
		if taken := filememory.Process().Used() - before; taken != images || images == 0 {
			t.Errorf("image from %s: %d bytes are counted, want the %d of the image only", from, taken, images)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if left := filememory.Process().Used() - before; left != 0 {
			t.Errorf("image from %s: %d bytes are counted after Close", from, left)
		}
	}
}
