// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/host/process"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func moduleOf(p *Process, base string) *frames.Module {
	for _, m := range p.Space().Modules() {
		if filepath.Base(m.Name) == base {
			return m
		}
	}
	return nil
}

func imageOf(m *frames.Module) *Image { return MappingOf(m).Image }

func TestModulesOfAProgram(t *testing.T) {
	c := child(t, "sleep", "1000")
	testtargets.Asleep(t, c.Process.Pid)
	var p *Process
	testtargets.Eventually(t, "sleep has loaded libc", func() bool {
		q, err := Open(c.Process.Pid)
		if err != nil {
			return false
		}
		if moduleOf(q, "libc.so.6") == nil || moduleOf(q, "[vdso]") == nil {
			_ = q.Close()
			return false
		}
		p = q
		return true
	})
	defer p.Close()
	if p.Comm != "sleep" || p.Arch == frames.ArchUnknown {
		t.Errorf("comm %q, arch %v", p.Comm, p.Arch)
	}
	for _, name := range []string{"sleep", "libc.so.6", "[vdso]"} {
		m := moduleOf(p, name)
		if m == nil || imageOf(m) == nil || m.BuildID == "" || imageOf(m).FromMemory {
			t.Fatalf("%s: module %+v, want one of a file with a build ID", name, m)
		}
		var mem, file [64]byte
		if _, err := readMemory(p.Memory(), p.PID, m.Start+64, mem[:]); err != nil {
			t.Fatal(err)
		}
		if n := imageOf(m).ReadAddr(m.Start+64-m.Bias, file[:]); n < 64 || mem != file {
			t.Errorf("%s: bias %#x is wrong", name, m.Bias)
		}
	}
	if end := p.StackEnd(stackPointer(t, p.PID)); end == 0 {
		t.Error("StackEnd does not find the stack")
	}
	if end := p.StackEnd(4096); end != 0 {
		t.Errorf("StackEnd(4096) = %#x, want 0", end)
	}
}

func stackPointer(t *testing.T, pid int) uint64 {
	t.Helper()
	text, err := os.ReadFile(process.Path(pid, "maps"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := parseMaps(text)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(m MapsLine) bool { return m.Path == "[stack]" })
	return all[i].Start - 4096
}

func TestFileBudgetIsKept(t *testing.T) {
	c := child(t, "python3", "-c", "import json,hashlib,time; print(flush=True); time.sleep(1000)")
	testtargets.Eventually(t, "python has loaded its modules", func() bool {
		b, _ := os.ReadFile(process.Path(c.Process.Pid, "maps"))
		return strings.Count(string(b), "r-xp") > 6
	})
	cache := NewImageCache(2)
	p, err := cache.Open(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 2 {
		for _, m := range p.Space().Modules() {
			img := imageOf(m)
			if img == nil || img.ELF.Size() == 0 {
				continue
			}
			var b [16]byte
			if n := img.ReadAddr(m.Start-m.Bias, b[:]); n == 0 {
				t.Errorf("%s cannot be read", m.Name)
			}
			if len(cache.files.open) > 2 {
				t.Fatalf("%d files are open, want at most 2", len(cache.files.open))
			}
		}
	}
	if err := cache.Close(); err != nil || len(cache.files.open) != 0 {
		t.Errorf("after Close %d files are open, %v; want 0", len(cache.files.open), err)
	}
}

func TestProcessesShareImages(t *testing.T) {
	cache := NewImageCache(0)
	defer cache.Close()
	var images []*Image
	for range 2 {
		c := child(t, "sleep", "1000")
		testtargets.Asleep(t, c.Process.Pid)
		p, err := cache.Open(c.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		images = append(images, imageOf(moduleOf(p, "sleep")))
	}
	if images[0] == nil || images[0] != images[1] {
		t.Errorf("two processes have the images %p and %p, want one", images[0], images[1])
	}
}

func TestTextMovedToAnonymousMemoryIsThatOfTheFile(t *testing.T) {
	gcc := testtargets.NeedProgram(t, "gcc")
	exe := filepath.Join(t.TempDir(), "moved")
	c := exec.Command(gcc, "-O1", "-o", exe, "-xc", "-")
	c.Stdin = strings.NewReader(movedText)
	if out, err := bounded.AllOutput(c); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c = exec.Command(exe)
	testtargets.Ready(t, c)
	p := open(t, c.Process.Pid)
	m := moduleOf(p, "moved")
	if m == nil || imageOf(m) == nil || MappingOf(m).Inode != 0 {
		t.Fatalf("modules %+v, want the text in anonymous memory with its file's image", p.Space().Modules())
	}
	if m.Generated || MappingOf(m).JIT {
		t.Error("the copy of the file's text counts as generated code, which a runtime may take over")
	}
}

const movedText = `
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
extern char __executable_start, __etext;
int main(void) {
	char line[512];
	unsigned long a, b; char perm[8];
	FILE *f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx %7s", &a, &b, perm) == 3 && perm[2] == 'x' && a <= (unsigned long)main &&
			(unsigned long)main < b)
			break;
	char *copy = mmap(0, b - a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(copy, (void *)a, b - a);
	mprotect(copy, b - a, PROT_READ | PROT_EXEC);
	mremap(copy, b - a, b - a, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)a);
	puts("ready"); fflush(stdout);
	for (;;) pause();
}`

func BenchmarkOpen(b *testing.B) {
	c := child(b, "python3", "-c", "import json,hashlib,time; time.sleep(1000)")
	testtargets.Eventually(b, "python has loaded its modules", func() bool {
		t, _ := os.ReadFile(process.Path(c.Process.Pid, "maps"))
		return strings.Count(string(t), "r-xp") > 6
	})
	b.ReportAllocs()
	for b.Loop() {
		p, err := Open(c.Process.Pid)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestSecondProcessOfAProgramReadsNoFileAgain(t *testing.T) {
	cache := NewImageCache(0)
	defer cache.Close()
	var reads [2]uint64
	for i := range reads {
		c := child(t, "python3", "-c", "import time; time.sleep(1000)")
		testtargets.Asleep(t, c.Process.Pid)
		before := cache.files.clock
		p, err := cache.Open(c.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for _, m := range p.Space().Modules() {
			for at := m.Start; at < m.End && m.Calls != nil; at += 1 << 14 {
				m.Calls.FuncStart(at - m.Bias)
				m.Sources[0].Rule(frames.Query{PC: at - m.Bias})
			}
		}
		reads[i] = cache.files.clock - before
	}
	if reads[0] == 0 || reads[1] > 16 {
		t.Errorf("%d reads for the first process, %d for the second; want some and almost none", reads[0], reads[1])
	}
}

// Erlang and .NET map their code from a memfd.
func TestCodeInAnonymousMemoryHasANameInBrackets(t *testing.T) {
	for path, want := range map[string]string{
		"": "[anon]", "//anon": "[anon]", "/anon_hugepage": "[anon]", "/memfd:vmem": "[memfd:vmem]",
		"/memfd:doublemapper": "[memfd:doublemapper]", "/usr/lib/libc.so.6": "/usr/lib/libc.so.6",
	} {
		if got := moduleName(&Mapping{MapsLine: MapsLine{Path: path}}); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
	if got := moduleName(&Mapping{MapsLine: MapsLine{Path: "/memfd:program"}, Image: &Image{}}); got != "/memfd:program" {
		t.Errorf("a program in a memfd is %s", got)
	}
}
