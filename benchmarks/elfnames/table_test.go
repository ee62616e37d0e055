// SPDX-License-Identifier: Apache-2.0

package elfnames

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func realFiles(t *testing.T) []string {
	t.Helper()
	command, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	files := []string{command}
	for _, libc := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6",
		"/lib/aarch64-linux-gnu/libc.so.6"} {
		if _, err := os.Stat(libc); err == nil {
			files = append(files, libc)
		}
	}
	return files
}

func TestEveryFunctionOfAFileIsFoundAtItsAddress(t *testing.T) {
	for _, path := range realFiles(t) {
		table, err := Open(path, "")
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		symbols, _ := f.DynamicSymbols()
		static, _ := f.Symbols()
		n := 0
		for _, s := range append(symbols, static...) {
			offset, ok := offsetOf(f, s.Value)
			if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 || !ok || s.Section == elf.SHN_UNDEF {
				continue
			}
			n++
			got, ok := table.At(offset + s.Size - 1)
			if !ok || got.Start < s.Value || got.End > s.Value+s.Size {
				t.Errorf("%s: the last byte of %s (%#x) is in %+v", path, s.Name, s.Value, got)
			}
		}
		if n < 1000 {
			t.Errorf("%s: only %d functions", path, n)
		}
	}
}

func offsetOf(f *elf.File, addr uint64) (uint64, bool) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr < p.Vaddr+p.Filesz {
			return addr - p.Vaddr + p.Off, true
		}
	}
	return 0, false
}

func TestFunctionsWithoutSymbolsAreDistinguished(t *testing.T) {
	table := &Table{
		segments: []elf.ProgHeader{{Type: elf.PT_LOAD, Off: 0x1000, Vaddr: 0x401000, Filesz: 0x1000}},
		symbols:  []Func{{0x401000, 0x401100, "outer"}, {0x401010, 0x401020, "inner"}},
		unnamed:  []Func{{0x401000, 0x401200, ""}, {0x401200, 0x401300, ""}},
	}
	for offset, want := range map[uint64]Func{
		0x1005: {0x401000, 0x401100, "outer"}, 0x1015: {0x401010, 0x401020, "inner"}, 0x1025: {0x401000, 0x401100, "outer"},
		0x1205: {0x401200, 0x401300, ""}, 0x1305: {}, 0x3000: {}, 0: {},
	} {
		if got, _ := table.At(offset); got != want {
			t.Errorf("%#x is in %+v, want %+v", offset, got, want)
		}
	}
}

func TestAFileThatIsNoELFIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, ""); err == nil {
		t.Error("opened")
	}
}
