// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/code/elffile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func compiled(t testing.TB, source string, flags ...string) *elffile.File {
	t.Helper()
	gcc := testtargets.NeedProgram(t, "gcc")
	out := filepath.Join(t.TempDir(), "a.out")
	c := exec.Command(gcc, append(flags, "-o", out, "-xc", "-")...)
	c.Stdin = strings.NewReader(source)
	if msg, err := bounded.AllOutput(c); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	r, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	st, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elffile.Open(r, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const twoFunctions = `
#include <stdio.h>
__attribute__((noinline)) int inner(int x) { return puts("x") + x; }
int main(void) { return inner(1) + 1; }`

func TestBoundsComeFromSymbolsWithoutFrameInformation(t *testing.T) {
	f := compiled(t, twoFunctions, "-O1", "-fno-asynchronous-unwind-tables")
	syms, err := f.Symbols(elffile.SymTab)
	if err != nil {
		t.Fatal(err)
	}
	var p fileRules
	p.prepare(&fileSymbols{elf: f})
	for i := range syms {
		name := f.SymbolName(elffile.SymTab, &syms[i])
		if name != "main" && name != "inner" {
			continue
		}
		want := syms[i].Value
		if start, end, ok := p.FuncRange(want + syms[i].Size - 1); !ok || start != want || end != want+syms[i].Size {
			t.Errorf("%s: %#x-%#x, want %#x", name, start, end, want)
		}
	}
	if _, _, ok := p.FuncRange(1); ok {
		t.Error("a function at address 1")
	}
}

func TestEachPLTEntryIsAFunction(t *testing.T) {
	f := compiled(t, twoFunctions, "-O1", "-fcf-protection=none", "-Wl,-z,lazy")
	var p fileRules
	p.prepare(&fileSymbols{elf: f})
	plt := f.Section(".plt")
	testtargets.Need(t, plt != nil, "a linker that writes .plt", testtargets.SetUp)
	for at := plt.Addr; at < plt.Addr+plt.Size; at += plt.EntSize {
		if start, end, ok := p.FuncRange(at + 5); !ok || start != at || end != at+plt.EntSize {
			t.Errorf("PLT entry at %#x: %#x-%#x, want %#x-%#x", at, start, end, at, at+plt.EntSize)
		}
	}
}

func TestFileWithoutSymbolsAndCFIHasNoBounds(t *testing.T) {
	f := compiled(t, "int main(void){return 0;}", "-s", "-nostartfiles", "-Wl,-e,main", "-static",
		"-fno-asynchronous-unwind-tables")
	var p fileRules
	p.prepare(&fileSymbols{elf: f})
	if _, _, ok := p.FuncRange(f.Entry); ok {
		t.Error("a file without symbols and CFI has bounds")
	}
}

func BenchmarkFuncRange(b *testing.B) {
	f := compiled(b, twoFunctions)
	var p fileRules
	p.prepare(&fileSymbols{elf: f})
	b.ReportAllocs()
	for b.Loop() {
		p.FuncRange(f.Entry)
	}
}
