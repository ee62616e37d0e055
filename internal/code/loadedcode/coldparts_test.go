// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/code/elffile"
)

const halved = `
extern void rare(long) __attribute__((cold));
extern long often(long);
__attribute__((noinline, noipa)) LINKAGE long NAME(long n)
{
	long sum = 0;
	for (long i = 0; i < n; i++) {
		sum += often(i);
		if (__builtin_expect(sum == 77, 0)) { rare(i); rare(sum); }
	}
	return sum + 1;
}
long CALLER(long n) { return NAME(n) + NAME(n + 1); }`

func TestColdPartsBelongToTheFunctionOfTheirUnit(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "unit.c")
	rest := filepath.Join(dir, "main.c")
	for file, text := range map[string]string{src: halved,
		rest: "void rare(long n) {}\nlong often(long n) { return n; }\nlong a(long), b(long), c(long);\nint main(void) { " +
			"return a(1) + b(2) + c(3); }"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var objects []string
	for _, unit := range []string{"a", "b", "c"} {
		linkage, name := "static", "same"
		if unit == "c" {
			linkage, name = "", "other"
		}
		own := filepath.Join(dir, unit+".c")
		tool(t, "cp", src, own)
		objects = append(objects, filepath.Join(dir, unit+".o"))
		tool(t, "gcc", "-O2", "-c", "-DLINKAGE="+linkage, "-DNAME="+name, "-DCALLER="+unit, "-o", objects[len(objects)-1],
			own)
	}
	exe := filepath.Join(dir, "prog")
	tool(t, append([]string{"gcc", "-O2", "-o", exe, rest}, objects...)...)
	f := openELF(t, exe)
	syms, err := f.Symbols(elffile.SymTab)
	if err != nil {
		t.Fatal(err)
	}
	var p fileRules
	p.prepare(&fileSymbols{elf: f})
	found := 0
	var parent *elffile.Symbol
	for i := range syms {
		s := &syms[i]
		switch name := f.SymbolName(elffile.SymTab, s); {
		case name == "same":
			parent = s
		case name == "same.cold":
			found++
			if lo, hi, ok := p.Parent(s.Value); !ok || lo != parent.Value || hi != lo+parent.Size {
				t.Errorf("the part at %#x belongs to %#x-%#x, want %#x", s.Value, lo, hi, parent.Value)
			}
		case name == "other.cold":
			found++
			lo, hi, ok := p.Parent(s.Value)
			if name := nameAt(f, syms, lo); !ok || name != "other" || hi <= lo {
				t.Errorf("the part at %#x belongs to %s %#x-%#x, want other", s.Value, name, lo, hi)
			}
		case strings.HasSuffix(name, "main"):
			if _, _, ok := p.Parent(s.Value); ok {
				t.Errorf("%s has a parent, though it is not a part", name)
			}
		}
	}
	if found != 3 {
		t.Errorf("%d parts in the symbol table, want 3", found)
	}
}

func nameAt(f *elffile.File, syms []elffile.Symbol, addr uint64) string {
	for i := range syms {
		if syms[i].Value == addr && syms[i].Type() == elf.STT_FUNC {
			return f.SymbolName(elffile.SymTab, &syms[i])
		}
	}
	return "?"
}
