// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/elffile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func FuzzFileRules(f *testing.F) {
	for _, flags := range [][]string{{"-O2", "-g"}, {"-O2", "-g", "-fno-asynchronous-unwind-tables", "-gz"}} {
		obj := filepath.Join(f.TempDir(), "seed.o")
		cmd := exec.Command("gcc", append(flags, "-c", "-DLINKAGE=static", "-DNAME=same", "-DCALLER=a", "-xc", "-o", obj,
			"-")...)
		cmd.Stdin = bytes.NewReader([]byte(halved))
		if bounded.Run(cmd) != nil {
			continue
		}
		if b, err := os.ReadFile(obj); err == nil {
			f.Add(b, uint64(8))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, pc uint64) {
		e, err := elffile.Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		var p fileRules
		p.prepare(&fileSymbols{elf: e, from: &debugFiles{elf: e, path: "/seed"}})
		for _, at := range []uint64{pc, e.Entry, 0} {
			for _, s := range p.sources {
				s.Rule(frames.Query{PC: at})
				s.Rule(frames.Query{PC: at, AfterCall: true, SPOnly: true})
			}
			if start, end, ok := p.FuncRange(at); ok && (at < start || at >= end) {
				t.Errorf("%#x is not in its bounds %#x-%#x", at, start, end)
			}
			if lo, hi, ok := p.Parent(at); ok && lo >= hi {
				t.Errorf("the part at %#x belongs to %#x-%#x", at, lo, hi)
			}
			p.calls.CallBefore(at)
		}
	})
}

func TestEachSourceOfAFileIsAsked(t *testing.T) {
	t.Setenv("CGO_ENABLED", "1")
	exe := filepath.Join(t.TempDir(), "gostacks") // the C library's start files have call frame information
	tool(t, "go", "build", "-ldflags=-linkmode=external", "-o", exe, "../../testtargets/src/gostacks/main.go")
	img := imageWith(openELF(t, exe), exe, "", false)
	defer img.Close()
	p := img.preparedRules()
	asked, _ := img.lazySources()
	if len(p.sources) != 4 || len(asked) < len(p.sources) {
		t.Errorf("%d sources, of which %d are asked; want a table, CFI, debugCFI and builtinsSource", len(p.sources),
			len(asked))
	}
}

func TestIndexOfCallFrameInformationIsCounted(t *testing.T) {
	f := openELF(t, build(t, "-O2", "-Wl,--no-eh-frame-hdr"))
	defer f.Release()
	m := f.Memory()
	q := frames.Query{PC: f.Entry}
	for m.Left() > 0 {
		if err := m.Take(m.Left(), "all"); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, ok := CFI(f, true).Rule(q); ok {
		t.Error("an index was made without memory left")
	}
	f.FreeContents()
	before := m.Used()
	if _, _, ok := CFI(f, true).Rule(q); !ok || m.Used() == before {
		t.Errorf("rule %v with %d bytes more counted, want a rule by an index that is counted", ok, m.Used()-before)
	}
}

// zigStart is Zig's entry point (0.13). Its call frame information names a caller, where the kernel put argc.
const zigStart = `
	.globl _start
	.type _start, @function
_start:
	.cfi_startproc
	xor %ebp, %ebp
	and $-16, %rsp
	call body
	ud2
	.cfi_endproc
	.size _start, . - _start
	.type body, @function
body:
	.cfi_startproc
	mov $60, %eax
	syscall
	.cfi_endproc
	.size body, . - body
`

func TestEntryPointWithACallersCFIIsRoot(t *testing.T) {
	testtargets.Need(t, runtime.GOARCH == "amd64", "an x86-64 processor", "another machine")
	exe := filepath.Join(t.TempDir(), "start")
	src := exe + ".s"
	if err := os.WriteFile(src, []byte(zigStart), 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, "gcc", "-nostdlib", "-static", "-o", exe, src)
	f := openELF(t, exe)
	img := imageWith(f, exe, "", false)
	defer img.Close()
	sources, _ := img.lazySources()
	for at, root := range map[uint64]bool{0: true, 11: true, 13: false} { // xor, behind the call, body
		r, _, ok := sources[0].Rule(frames.Query{PC: f.Entry + at, AfterCall: at == 11})
		if got := r.Flags&frames.FlagRoot != 0; !ok || got != root {
			t.Errorf("_start+%d: root %v (%+v, %v), want %v", at, got, r, ok, root)
		}
	}
}
