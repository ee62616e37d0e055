// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"prywalk/frames"
	"prywalk/internal/elffile"
)

func FuzzFileRules(f *testing.F) {
	for _, flags := range [][]string{{"-O2", "-g"}, {"-O2", "-g", "-fno-asynchronous-unwind-tables", "-gz"}} {
		obj := filepath.Join(f.TempDir(), "seed.o")
		cmd := exec.Command("gcc", append(flags, "-c", "-DLINKAGE=static", "-DNAME=same", "-DCALLER=a", "-xc", "-o", obj,
			"-")...)
		cmd.Stdin = bytes.NewReader([]byte(halved))
		if cmd.Run() != nil {
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
	tool(t, "go", "build", "-ldflags=-linkmode=external", "-o", exe, "../sampler/testdata/gostacks/main.go")
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
