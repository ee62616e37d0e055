package target

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"prywalk/frames"
)

// moduleOf gives the first module of that base name.
func moduleOf(p *Process, base string) *frames.Module {
	for _, m := range p.Space().Modules() {
		if filepath.Base(m.Name) == base {
			return m
		}
	}
	return nil
}

func imageOf(m *frames.Module) *Image { return m.Data.(*Mapping).Image }

func TestModulesOfAProgram(t *testing.T) {
	c := child(t, "sleep", "1000")
	var p *Process
	eventually(t, "sleep has loaded libc", func() bool {
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
			t.Fatalf("%s: %+v", name, m)
		}
		// The file's bytes at the module's own address are the memory's.
		var mem, file [64]byte
		if _, err := readMemory(p.PID, m.Start+64, mem[:]); err != nil {
			t.Fatal(err)
		}
		if n := imageOf(m).readAddr(m.Start+64-m.Bias, file[:]); n < 64 || mem != file {
			t.Errorf("%s: bias %#x is wrong", name, m.Bias)
		}
	}
	if end := p.StackEnd(stackPointer(t, p.PID)); end == 0 {
		t.Error("stack not found")
	}
	if end := p.StackEnd(4096); end != 0 {
		t.Errorf("StackEnd(4096) = %#x", end)
	}
}

// stackPointer gives an address just below the first thread's stack, as if that had
// grown since.
func stackPointer(t *testing.T, pid int) uint64 {
	t.Helper()
	text, err := os.ReadFile(procFS.path(pid, "maps"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := ParseMaps(text)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(m Mapping) bool { return m.Path == "[stack]" })
	return all[i].Start - 4096
}

func TestRefreshSeesCodeComeAndGo(t *testing.T) {
	py, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	c := exec.Command(py, "-c", `
import sys, mmap
print(flush=True); sys.stdin.readline()
m = mmap.mmap(-1, 8192, flags=mmap.MAP_PRIVATE|mmap.MAP_ANONYMOUS, prot=7); m[0:2] = b"\x90\xc3"
print(flush=True); sys.stdin.readline()
m[0:2] = b"\xcc\xc3"
print(flush=True); sys.stdin.readline()
m.close()
print(flush=True); sys.stdin.readline()`)
	in, _ := c.StdinPipe()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, c)
	step := func() {
		if _, err := in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		wait(t, out)
	}
	wait(t, out)
	p := open(t, c.Process.Pid)
	before := slices.Clone(p.Space().Modules())
	refreshed(t, p, false)
	if !slices.Equal(before, p.Space().Modules()) {
		t.Error("modules changed")
	}
	step()
	refreshed(t, p, true)
	after := p.Space().Modules()
	if len(after) != len(before)+1 {
		t.Fatalf("%d modules, then %d", len(before), len(after))
	}
	for _, m := range before {
		if !slices.Contains(after, m) {
			t.Errorf("%s is another module now", m.Name)
		}
	}
	i := slices.IndexFunc(after, func(m *frames.Module) bool { return !slices.Contains(before, m) })
	jit := after[i]
	if at := jit.Data.(*Mapping); !at.JIT || jit.Name != "[anon]" || at.Image != nil {
		t.Errorf("%+v %+v", jit, at)
	}
	var code [2]byte
	if n := p.jit.ReadCode(jit.Start, code[:]); n != 2 || code != [2]byte{0x90, 0xc3} {
		t.Errorf("code % x", code)
	}
	step()
	refreshed(t, p, true)
	if p.jit.ReadCode(jit.Start, code[:]); code[0] != 0xcc {
		t.Error("new code was not seen")
	}
	step()
	refreshed(t, p, true)
	if !slices.Equal(before, p.Space().Modules()) {
		t.Error("the mapping is still there")
	}
}

func wait(t *testing.T, r interface{ Read([]byte) (int, error) }) {
	t.Helper()
	if _, err := r.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
}

func refreshed(t *testing.T, p *Process, want bool) {
	t.Helper()
	changed, err := p.Refresh()
	if err != nil || changed != want {
		t.Fatalf("Refresh: %v, %v; want %v", changed, err, want)
	}
}

// ways are the two ways to a file: with and without /proc/PID/map_files.
func ways(t *testing.T, check func(t *testing.T, open func(pid int) *Process)) {
	for name, noLinks := range map[string]bool{"by map_files": false, "by path": true} {
		t.Run(name, func(t *testing.T) {
			check(t, func(pid int) *Process {
				p := open(t, pid)
				p.noLinks = noLinks
				p.code = nil
				p.cache.byName = map[fileKey]*Image{}
				p.cache.byFile = map[fileID]*Image{}
				if _, err := p.Refresh(); err != nil {
					t.Fatal(err)
				}
				return p
			})
		})
	}
}

func TestDeletedAndReplacedPrograms(t *testing.T) {
	ways(t, func(t *testing.T, open func(int) *Process) {
		path := copyProgram(t, "sleep")
		c := start(t, exec.Command(path, "1000"))
		eventually(t, "exec", func() bool { return procFS.comm(c.Process.Pid) == "sleep" })
		id := imageOf(moduleOf(open(c.Process.Pid), "sleep")).BuildID
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		gone := moduleOf(open(c.Process.Pid), "sleep")
		if img := imageOf(gone); img == nil || img.BuildID != id || img.FromMemory || !img.Deleted {
			t.Errorf("deleted: %+v", img)
		}
		if err := os.WriteFile(path, []byte("\x7fELF and nothing else"), 0o755); err != nil {
			t.Fatal(err)
		}
		replaced := moduleOf(open(c.Process.Pid), "sleep")
		if img := imageOf(replaced); img == nil || img.BuildID != id {
			t.Errorf("replaced: %+v", img)
		}
	})
}

func TestAReplacedLibraryIsReadFromMemory(t *testing.T) {
	py, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed")
	}
	lib := filepath.Join(t.TempDir(), "libx.so")
	build := func(body string) {
		c := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-Wl,--build-id", "-o", lib, "-xc", "-")
		c.Stdin = strings.NewReader(body)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	ways(t, func(t *testing.T, open func(int) *Process) {
		build("int f(int x) { return x + 1; }")
		c := exec.Command(py, "-c", "import ctypes,sys,time; ctypes.CDLL(sys.argv[1]); print(flush=True); time.sleep(1000)", lib)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		start(t, c)
		wait(t, out)
		id := moduleOf(open(c.Process.Pid), "libx.so").BuildID
		if err := os.Remove(lib); err != nil {
			t.Fatal(err)
		}
		build("int f(int x) { return x * 17 + 3; } int g(int x) { return f(x) - 1; }")
		p := open(c.Process.Pid)
		m := moduleOf(p, "libx.so")
		if m == nil || m.BuildID != id || imageOf(m) == nil {
			t.Fatalf("%+v", m)
		}
		img := imageOf(m)
		if img.FromMemory != p.noLinks {
			t.Errorf("from memory: %v", img.FromMemory)
		}
		hdr, eh := img.ELF.EhFrame()
		if hdr == nil || eh == nil {
			t.Error("no call frame information")
		}
	})
}

func TestContentsDecideWhereDevicesDiffer(t *testing.T) {
	c := child(t, "sleep", "1000")
	eventually(t, "exec", func() bool { return procFS.comm(c.Process.Pid) == "sleep" })
	p := open(t, c.Process.Pid)
	p.noLinks = true
	m := *moduleOf(p, "sleep").Data.(*Mapping)
	self, err := os.Open(m.Path)
	if err != nil {
		t.Fatal(err)
	}
	if !p.sameContents(self, &m) {
		t.Error("the file itself is refused")
	}
	other, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if p.accept(other, &m) {
		t.Error("another file is accepted")
	}
	if err := self.Close(); err != nil {
		t.Error(err)
	}
}

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/null", "/", "/nonexistent"} {
		if f, err := openRegular(path); err == nil {
			t.Errorf("%s was opened", path)
			_ = f.Close()
		}
		if f, err := openIn("/", path); err == nil {
			t.Errorf("%s was opened", path)
			_ = f.Close()
		}
	}
}

func TestAnotherProgramAfterExec(t *testing.T) {
	c := exec.Command("sh", "-c", "read x; exec sleep 1000")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, c)
	eventually(t, "exec", func() bool { return procFS.comm(c.Process.Pid) == "sh" })
	p := open(t, c.Process.Pid)
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "exec, and the program is mapped", func() bool { // the kernel changes the name first
		maps, _ := os.ReadFile(procFS.path(c.Process.Pid, "maps"))
		return procFS.comm(c.Process.Pid) == "sleep" && regexp.MustCompile(`r-xp .*/(sleep|coreutils)\n`).Match(maps)
	})
	refreshed(t, p, true)
	if p.Comm != "sleep" || moduleOf(p, "sleep") == nil {
		t.Errorf("%s: %+v", p.Comm, p.Space().Modules())
	}
}

func TestFileBudgetIsKept(t *testing.T) {
	c := child(t, "python3", "-c", "import json,hashlib,time; print(flush=True); time.sleep(1000)")
	eventually(t, "python has loaded its modules", func() bool {
		b, _ := os.ReadFile(procFS.path(c.Process.Pid, "maps"))
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
			if n := img.readAddr(m.Start-m.Bias, b[:]); n == 0 {
				t.Errorf("%s cannot be read", m.Name)
			}
			if len(cache.files.open) > 2 {
				t.Fatalf("%d files open", len(cache.files.open))
			}
		}
	}
	if err := cache.Close(); err != nil || len(cache.files.open) != 0 {
		t.Errorf("after Close %d files open, %v", len(cache.files.open), err)
	}
}

func TestProcessesShareImages(t *testing.T) {
	cache := NewImageCache(0)
	defer cache.Close()
	var images []*Image
	for range 2 {
		c := child(t, "sleep", "1000")
		eventually(t, "exec", func() bool { return procFS.comm(c.Process.Pid) == "sleep" })
		p, err := cache.Open(c.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		images = append(images, imageOf(moduleOf(p, "sleep")))
	}
	if images[0] == nil || images[0] != images[1] {
		t.Errorf("%p and %p", images[0], images[1])
	}
}

func TestTextMovedToAnonymousMemoryIsStillTheFile(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed")
	}
	exe := filepath.Join(t.TempDir(), "moved")
	c := exec.Command(gcc, "-O1", "-o", exe, "-xc", "-")
	c.Stdin = strings.NewReader(movedText)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c = exec.Command(exe)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, c)
	wait(t, out)
	p := open(t, c.Process.Pid)
	m := moduleOf(p, "moved")
	if m == nil || imageOf(m) == nil || m.Data.(*Mapping).Inode != 0 {
		t.Fatalf("%+v", p.Space().Modules())
	}
}

// movedText moves all of its own text into anonymous memory, as Node does.
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
		if (sscanf(line, "%lx-%lx %7s", &a, &b, perm) == 3 && perm[2] == 'x' && a <= (unsigned long)main && (unsigned long)main < b)
			break;
	char *copy = mmap(0, b - a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(copy, (void *)a, b - a);
	mprotect(copy, b - a, PROT_READ | PROT_EXEC);
	mremap(copy, b - a, b - a, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)a);
	puts("moved"); fflush(stdout);
	for (;;) pause();
}`

func BenchmarkOpen(b *testing.B) {
	c := child(b, "python3", "-c", "import json,hashlib,time; time.sleep(1000)")
	eventually(b, "python has loaded its modules", func() bool {
		t, _ := os.ReadFile(procFS.path(c.Process.Pid, "maps"))
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

func BenchmarkRefreshUnchanged(b *testing.B) {
	c := child(b, "sleep", "1000")
	p := open(b, c.Process.Pid)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Refresh(); err != nil {
			b.Fatal(err)
		}
	}
}
