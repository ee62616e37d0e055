// SPDX-License-Identifier: Apache-2.0

package core

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets/bounded"
)

// Its frames are known from the instructions, not from Go's tables.
type goArm struct {
	file string
	elf  *elf.File
	syms []elf.Symbol
}

func buildGoArm(t *testing.T, dir string) *goArm {
	t.Helper()
	p := &goArm{file: filepath.Join(dir, "prog")}
	cmd := exec.Command("go", "build", "-o", p.file, "../../testtargets/src/goarm64/main.go")
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := bounded.AllOutput(cmd); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := elf.Open(p.file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	p.elf = f
	if p.syms, err = f.Symbols(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *goArm) code(t *testing.T, name string) (uint64, []uint32) {
	t.Helper()
	i := slices.IndexFunc(p.syms, func(s elf.Symbol) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no symbol %s", name)
	}
	s, text := p.syms[i], p.elf.Section(".text")
	b := make([]byte, s.Size)
	if _, err := text.ReadAt(b, int64(s.Value-text.Addr)); err != nil {
		t.Fatal(err)
	}
	var out []uint32
	for ; len(b) >= 4; b = b[4:] {
		out = append(out, le.Uint32(b))
	}
	return s.Value, out
}

// The size is in "str x30, [sp, #-N]!".
func (p *goArm) frame(t *testing.T, name string) uint64 {
	t.Helper()
	_, code := p.code(t, name)
	for _, in := range code {
		if in&0xffe00fff == 0xf8000ffe {
			return uint64(-(int64(int32(in<<11)) >> 23))
		}
	}
	t.Fatalf("%s: frame size not found", name)
	return 0
}

// after returns the return address of "bl callee" in caller, or of the first "blr" if callee is "".
func (p *goArm) after(t *testing.T, caller, callee string) uint64 {
	t.Helper()
	start, code := p.code(t, caller)
	want := uint64(0)
	if callee != "" {
		want, _ = p.code(t, callee)
	}
	for i, in := range code {
		at := start + 4*uint64(i)
		direct := in>>26 == 0x25 && at+uint64(int64(int32(in<<6))>>4) == want
		if callee != "" && direct || callee == "" && in&0xfffffc1f == 0xd63f0000 {
			return at + 4
		}
	}
	t.Fatalf("%s does not call %s", caller, callee)
	return 0
}

func TestCoreOfAGoProgramForArm64IsWalkedByItsTable(t *testing.T) {
	root := t.TempDir()
	p := buildGoArm(t, root)
	leaf, _ := p.code(t, "main.leaf")
	goexit, _ := p.code(t, "runtime.goexit.abi0")
	want := []uint64{leaf + 8, p.after(t, "main.middle", "main.leaf"), p.after(t, "main.outer", "main.middle"),
		p.after(t, "main.main", "main.outer"), p.after(t, "runtime.main", ""), goexit + 4}
	const base, sp = 0x4000_0000, 0x4000_0100 // frame pointers are below sp
	stack, at := make([]byte, 4096), uint64(sp-base)
	for i, name := range []string{"main.middle", "main.outer", "main.main", "runtime.main"} {
		le.PutUint64(stack[at:], want[i+2]) // the link register is at sp
		at += p.frame(t, name)
	}
	r := frames.Regs{Arch: frames.ARM64, PC: want[0]}
	r.Set(frames.ARM64SP, sp)
	r.Set(frames.ARM64LR, want[1])
	w := &writer{machine: uint16(elf.EM_AARCH64)}
	w.thread(1, &r)
	w.process(1, "prog")
	file, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	var files []fileMap
	for _, s := range p.elf.Progs {
		if s.Type != elf.PT_LOAD {
			continue
		}
		size := (s.Filesz + 4095) &^ 4095
		l := load{addr: s.Vaddr, size: size, flags: uint32(s.Flags)}
		if s.Off == 0 {
			l.data = file[:4096]
		}
		files = append(files, fileMap{s.Vaddr, s.Vaddr + size, s.Off, "/prog"})
		w.loads = append(w.loads, l)
	}
	w.loads = append(w.loads, load{base, 4096, 6, stack})
	w.files(files...)
	c := openBytes(t, bytes.Clone(w.bytes()), root)
	if warned := c.Warnings(); len(warned) > 0 {
		t.Errorf("warnings %q", warned)
	}
	if got, stop := walkCore(c, &c.Threads()[0], 0); !slices.Equal(got, want) || stop != frames.StopRoot {
		t.Errorf("%#x, %v; want %#x", got, stop, want)
	}
}
