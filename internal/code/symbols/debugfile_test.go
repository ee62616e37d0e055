// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/code/elffile"
)

// split moves a program's debug information to another file, and returns the folder.
func split(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "a.c", cSource)
	run(t, dir, append([]string{need(t, "gcc"), "-O2", "-g", "-o", "a.out", "a.c"}, flags...)...)
	run(t, dir, need(t, "objcopy"), "--only-keep-debug", "a.out", "a.debug")
	run(t, dir, need(t, "strip"), "a.out")
	run(t, dir, "objcopy", "--add-gnu-debuglink=a.debug", "a.out")
	return dir
}

func lines(table *Table) (n int) {
	for _, e := range table.symbols().code {
		for a := e.lo; a < e.hi; a += 3 {
			if fs := table.Frames(a, nil); len(fs) > 0 && fs[0].Line > 0 {
				n++
			}
		}
	}
	return n
}

func TestDebugLinkIsFollowedAndItsCRCChecked(t *testing.T) {
	dir := split(t, "-Wl,--build-id=none")
	exe, debug := filepath.Join(dir, "a.out"), filepath.Join(dir, "a.debug")
	if n := lines(openTable(t, exe)); n == 0 {
		t.Error("no lines from the debug file beside the program")
	}
	os.Mkdir(filepath.Join(dir, ".debug"), 0o700)
	moved := filepath.Join(dir, ".debug", "a.debug")
	if err := os.Rename(debug, moved); err != nil {
		t.Fatal(err)
	}
	if n := lines(openTable(t, exe)); n == 0 {
		t.Error("no lines from the debug file in .debug")
	}
	text, _ := os.ReadFile(moved)
	text[len(text)/2] ^= 1
	os.WriteFile(moved, text, 0o600)
	table := openTable(t, exe)
	if n := lines(table); n != 0 {
		t.Error("a debug file with another CRC is used")
	}
	if w := table.Warnings(); len(w) != 1 || !strings.Contains(w[0].Error(), "another build") {
		t.Errorf("warnings %v, want one of another build", w)
	}
}

func TestDebugFileOfAnotherBuildIsRefusedByItsBuildID(t *testing.T) {
	dir := split(t)
	other := t.TempDir()
	write(t, other, "a.c", cSource+"\nint more(void) { return 3; }\n")
	run(t, other, "gcc", "-O2", "-g", "-o", "a.out", "a.c")
	run(t, other, "objcopy", "--only-keep-debug", "a.out", filepath.Join(dir, "a.debug"))
	table := openTable(t, filepath.Join(dir, "a.out"))
	if n := lines(table); n != 0 || len(table.Warnings()) == 0 {
		t.Errorf("%d lines, warnings %v", n, table.Warnings())
	}
}

func TestDebugFileIsFoundByBuildIDBelowTheContainersRoot(t *testing.T) {
	dir := split(t)
	exe := filepath.Join(dir, "a.out")
	r, size, _ := openFile(exe)
	f, err := elffile.Open(r, size)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	place := filepath.Join(root, elffile.BuildIDPath(f.BuildID()))
	os.MkdirAll(filepath.Dir(place), 0o700)
	if err := os.Rename(filepath.Join(dir, "a.debug"), place); err != nil {
		t.Fatal(err)
	}
	var opened []string
	table := New(Sources{File: f, Path: "/srv/a.out", Open: func(p string) (io.ReaderAt, int64, error) {
		opened = append(opened, p)
		return openFile(filepath.Join(root, p))
	}})
	defer table.Close()
	if n := lines(table); n == 0 {
		t.Errorf("no lines; opened %v", opened)
	}
	if len(opened) != 1 {
		t.Errorf("opened %v, want one file", opened)
	}
}

func TestMiniDebugInfoHasNamesOfStaticFunctions(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.c", cSource)
	run(t, dir, need(t, "gcc"), "-O2", "-o", "a.out", "a.c")
	run(t, dir, need(t, "objcopy"), "-S", "--keep-symbol=fib", "--keep-symbol=keep.constprop.0", "a.out", "mini")
	run(t, dir, need(t, "xz"), "mini")
	run(t, dir, need(t, "strip"), "a.out")
	run(t, dir, "objcopy", "--add-section", ".gnu_debugdata=mini.xz", "a.out")
	table := openTable(t, filepath.Join(dir, "a.out"))
	names := make(map[string]bool)
	for i := range table.symbols().syms {
		names[table.syms.name(table.syms.syms[i].name)] = true
	}
	if !names["fib"] || !names["printf@plt"] {
		t.Errorf("names %v, want fib and printf@plt", names)
	}
}

func TestPLTHasNamesBesideADebugFileWithoutSymbols(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.c", cSource)
	run(t, dir, need(t, "gcc"), "-O2", "-o", "a.out", "a.c")
	run(t, dir, need(t, "objcopy"), "-S", "--keep-symbol=fib", "a.out", "mini")
	run(t, dir, need(t, "xz"), "mini")
	run(t, dir, need(t, "strip"), "a.out")
	run(t, dir, "cp", "a.out", "a.debug")
	run(t, dir, "objcopy", "--add-gnu-debuglink=a.debug", "--add-section", ".gnu_debugdata=mini.xz", "a.out")
	table := openTable(t, filepath.Join(dir, "a.out"))
	names := make(map[string]bool)
	for i := range table.symbols().syms {
		names[table.syms.name(table.syms.syms[i].name)] = true
	}
	if table.debug.file == nil || !names["fib"] || !names["printf@plt"] {
		t.Errorf("debug file %v, names %v, want one, fib and printf@plt", table.debug.file, names)
	}
}

func TestAStrippedProgramWithoutDebugFileHasNoNamesAndNoWarnings(t *testing.T) {
	dir := split(t)
	os.Remove(filepath.Join(dir, "a.debug"))
	table := openTable(t, filepath.Join(dir, "a.out"))
	if n := lines(table); n != 0 || len(table.Warnings()) != 0 {
		t.Errorf("%d lines, warnings %v", n, table.Warnings())
	}
	if fs := table.Frames(0, nil); len(fs) != 0 {
		t.Errorf("address 0 has the frames %v, want none", fs)
	}
	if fs := New(Sources{}).Frames(0x1000, nil); len(fs) != 0 {
		t.Errorf("an empty table returns the frames %v, want none", fs)
	}
}
