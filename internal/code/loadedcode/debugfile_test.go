// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/elffile"
	"prywalk/internal/host/safeopen"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

const pauser = `
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#define PART __attribute__((noinline, noclone))
static int use(volatile char *b) { return b[0]; }
PART static int inner(int n) { char b[400]; memset(b, n, sizeof b); pause(); return use(b); }
PART static int middle(int n) { return inner(n + 1) * 3 + 1; }
PART static int outer(int n) { char b[4000]; memset(b, n, sizeof b); return middle(use(b)) + use(b); }
int main(void) { puts("ready"); fflush(stdout); return outer(1) + 1; }`

var noCFI = []string{"-O2", "-g", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables",
	"-fno-optimize-sibling-calls"}

func tool(t *testing.T, args ...string) {
	t.Helper()
	path := testtargets.NeedProgram(t, args[0])
	if out, err := bounded.AllOutput(exec.Command(path, args[1:]...)); err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
}

func build(t *testing.T, flags ...string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "pauser")
	src := exe + ".c"
	if err := os.WriteFile(src, []byte(pauser), 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, append([]string{"gcc", "-o", exe, src}, flags...)...)
	return exe
}

func methods(t *testing.T, exe string) (string, frames.StopReason) {
	t.Helper()
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	defer testtargets.Kill(cmd)
	pid := cmd.Process.Pid
	awaitSleep(t, pid, 1)
	p := open(t, pid)
	fs, why := sampleOnce(t, p, pid)
	var out []string
	for i := range fs {
		if m := fs[i].Module; m != nil && m.Name == exe {
			out = append(out, fs[i].Method.String())
		}
	}
	return strings.Join(out, " "), why
}

const byCFI = "cfi cfi cfi cfi cfi"

func TestDebugFrameOfASeparateFileIsUsed(t *testing.T) {
	for name, split := range map[string]func(t *testing.T, exe, debug string){
		"objcopy": func(t *testing.T, exe, debug string) {
			tool(t, "objcopy", "--only-keep-debug", exe, debug)
			tool(t, "strip", exe)
			tool(t, "objcopy", "--add-gnu-debuglink="+debug, exe)
		},
		"compressed": func(t *testing.T, exe, debug string) {
			tool(t, "objcopy", "--only-keep-debug", "--compress-debug-sections=zlib", exe, debug)
			tool(t, "strip", exe)
			tool(t, "objcopy", "--add-gnu-debuglink="+debug, exe)
		},
		"eu-strip": func(t *testing.T, exe, debug string) { tool(t, "eu-strip", "-f", debug, exe) },
	} {
		t.Run(name, func(t *testing.T) {
			exe := build(t, noCFI...)
			if got, why := methods(t, exe); got != byCFI || !why.Complete() {
				t.Fatalf("with .debug_frame in the program: methods %s, %v", got, why)
			}
			dir := filepath.Join(filepath.Dir(exe), ".debug")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			debug := filepath.Join(dir, "pauser.debug")
			split(t, exe, debug)
			if got, why := methods(t, exe); got != byCFI || !why.Complete() {
				t.Errorf("with .debug_frame in a separate file: methods %s, %v", got, why)
			}
			if err := os.Rename(debug, debug+".away"); err != nil {
				t.Fatal(err)
			}
			if got, why := methods(t, exe); !strings.Contains(got, "heuristic") || !why.Complete() {
				t.Errorf("without .debug_frame: methods %s, %v; want a heuristic one", got, why)
			}
		})
	}
}

func TestDebugFrameOfAnotherBuildIsNotUsed(t *testing.T) {
	exe, other := build(t, noCFI...), build(t, append([]string{"-DOTHER", "-O1"}, noCFI[1:]...)...)
	debug := filepath.Join(filepath.Dir(exe), "pauser.debug")
	tool(t, "objcopy", "--only-keep-debug", other, debug)
	tool(t, "strip", exe)
	tool(t, "objcopy", "--add-gnu-debuglink="+debug, exe)
	if got, why := methods(t, exe); !strings.Contains(got, "heuristic") || !why.Complete() {
		t.Errorf("methods %s, %v; want a heuristic one", got, why)
	}
}

// embed strips a program; .gnu_debugdata has what objcopy keeps.
func embed(t *testing.T, exe string, keep ...string) {
	t.Helper()
	mini := filepath.Join(filepath.Dir(exe), "mini")
	tool(t, append(append([]string{"objcopy"}, keep...), exe, mini)...)
	tool(t, "strip", exe)
	tool(t, "xz", mini)
	tool(t, "objcopy", "--add-section", ".gnu_debugdata="+mini+".xz", exe)
}

func TestDebugFrameOfEmbeddedDebugDataIsUsed(t *testing.T) {
	exe := build(t, noCFI...)
	embed(t, exe, "--only-keep-debug", "--remove-section=.debug_info")
	if got, why := methods(t, exe); got != byCFI || !why.Complete() {
		t.Errorf("methods %s, %v; want %s", got, why, byCFI)
	}
}

func openELF(t *testing.T, path string) *elffile.File {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elffile.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestBoundsOfStrippedFunctionsComeFromEmbeddedDebugData(t *testing.T) {
	exe := build(t, "-O2", "-fno-asynchronous-unwind-tables")
	whole := openELF(t, exe)
	embed(t, exe, "-S", "--keep-symbol=inner", "--keep-symbol=outer")
	f := openELF(t, exe)
	var p, bare fileRules
	p.prepare(&fileSymbols{elf: f, from: &debugFiles{elf: f, path: exe}})
	bare.prepare(&fileSymbols{elf: f})
	syms, err := whole.Symbols(elffile.SymTab)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i := range syms {
		if name := whole.SymbolName(elffile.SymTab, &syms[i]); name != "inner" && name != "outer" {
			continue
		}
		found++
		last := syms[i].Value + syms[i].Size - 1
		if start, end, ok := p.FuncRange(last); !ok || start != syms[i].Value || end != last+1 {
			t.Errorf("function at %#x: %#x-%#x, %v; want %#x-%#x", last, start, end, ok, syms[i].Value, last+1)
		}
		if _, _, ok := bare.FuncRange(last); ok {
			t.Errorf("%#x: the program has bounds without its debug data", last)
		}
	}
	if found != 2 {
		t.Errorf("%d functions found, want 2", found)
	}
}

func TestDebugFilesAreOpenedOnlyForCodeWithoutOtherInformation(t *testing.T) {
	exe := build(t, "-O2", "-g")
	f := openELF(t, exe)
	opened := 0
	debug := &debugFiles{elf: f, path: exe, open: func(string) (*safeopen.File, error) {
		opened++
		return nil, os.ErrNotExist
	}}
	var p fileRules
	p.prepare(&fileSymbols{elf: f, from: debug})
	query := func(pc uint64) {
		for _, s := range p.sources {
			if _, _, ok := s.Rule(frames.Query{PC: pc}); ok {
				return
			}
		}
	}
	syms, err := f.Symbols(elffile.SymTab)
	if err != nil {
		t.Fatal(err)
	}
	for i := range syms {
		if f.SymbolName(elffile.SymTab, &syms[i]) == "main" {
			query(syms[i].Value + 5)
			p.FuncRange(syms[i].Value + 5)
		}
	}
	if opened > 0 {
		t.Errorf("%d debug files opened for described code, want 0", opened)
	}
	query(f.Section(".init").Addr)
	if opened == 0 {
		t.Error("no debug file opened for undescribed code")
	}
	opened = 0
	query(f.Section(".init").Addr + 1)
	if opened > 0 {
		t.Errorf("%d debug files opened a second time, want 0", opened)
	}
}
