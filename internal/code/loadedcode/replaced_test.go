// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/host/safeopen"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func ways(t *testing.T, check func(t *testing.T, open func(pid int) *Process)) {
	for name, noLinks := range map[string]bool{"by map_files": false, "by path": true} {
		t.Run(name, func(t *testing.T) {
			check(t, func(pid int) *Process {
				p := open(t, pid)
				p.noLinks = noLinks
				p.code = nil
				p.cache.byName = map[fileKey]*Image{}
				p.cache.byFile = map[safeopen.ID]*Image{}
				if _, err := p.Refresh(); err != nil {
					t.Fatal(err)
				}
				return p
			})
		})
	}
}

func TestDeletedAndReplacedProgramsAreRead(t *testing.T) {
	ways(t, func(t *testing.T, open func(int) *Process) {
		path := copyProgram(t, "sleep")
		c := testtargets.Child(t, exec.Command(path, "1000"))
		testtargets.Asleep(t, c.Process.Pid)
		id := imageOf(moduleOf(open(c.Process.Pid), "sleep")).BuildID
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		gone := moduleOf(open(c.Process.Pid), "sleep")
		if img := imageOf(gone); img == nil || img.BuildID != id || img.FromMemory || !img.Deleted {
			t.Errorf("deleted program: image %+v", img)
		}
		if err := os.WriteFile(path, []byte("\x7fELF and nothing else"), 0o755); err != nil {
			t.Fatal(err)
		}
		replaced := moduleOf(open(c.Process.Pid), "sleep")
		if img := imageOf(replaced); img == nil || img.BuildID != id {
			t.Errorf("replaced program: image %+v", img)
		}
	})
}

func TestAReplacedLibraryIsReadFromMemory(t *testing.T) {
	py := testtargets.NeedProgram(t, "python3")
	gcc := testtargets.NeedProgram(t, "gcc")
	lib := filepath.Join(t.TempDir(), "libx.so")
	build := func(body string) {
		c := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-Wl,--build-id", "-o", lib, "-xc", "-")
		c.Stdin = strings.NewReader(body)
		if out, err := bounded.AllOutput(c); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	ways(t, func(t *testing.T, open func(int) *Process) {
		build("int f(int x) { return x + 1; }")
		c := exec.Command(py, "-c",
			"import ctypes,sys,time; ctypes.CDLL(sys.argv[1]); print('ready', flush=True); time.sleep(1000)", lib)
		testtargets.Ready(t, c)
		id := moduleOf(open(c.Process.Pid), "libx.so").BuildID
		if err := os.Remove(lib); err != nil {
			t.Fatal(err)
		}
		build("int f(int x) { return x * 17 + 3; } int g(int x) { return f(x) - 1; }")
		p := open(c.Process.Pid)
		m := moduleOf(p, "libx.so")
		if m == nil || m.BuildID != id || imageOf(m) == nil {
			t.Fatalf("module %+v, want one with the first build's ID", m)
		}
		img := imageOf(m)
		if img.FromMemory != p.noLinks {
			t.Errorf("read from memory: %v, want the contrary", img.FromMemory)
		}
		hdr, eh := img.ELF.EhFrame()
		if hdr == nil || eh == nil {
			t.Error("the library's call frame information is missing")
		}
	})
}

// One process maps the file already; another maps it later and shares the cache.
func TestALibraryThatIsOverwrittenInPlaceGivesNoWrongNames(t *testing.T) {
	py := testtargets.NeedProgram(t, "python3")
	gcc := testtargets.NeedProgram(t, "gcc")
	dir := t.TempDir()
	lib := filepath.Join(dir, "libx.so")
	overwrite := func(body string) {
		built := filepath.Join(dir, "built.so")
		c := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-Wl,--build-id", "-o", built, "-xc", "-")
		c.Stdin = strings.NewReader(body)
		if out, err := bounded.AllOutput(c); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		contents, err := os.ReadFile(built)
		if err == nil {
			err = os.WriteFile(lib, contents, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	load := func() *exec.Cmd {
		c := exec.Command(py, "-c",
			"import ctypes,sys,time; ctypes.CDLL(sys.argv[1]); print('ready', flush=True); time.sleep(1000)", lib)
		testtargets.Ready(t, c)
		return c
	}
	overwrite("int old_function(int x) { return x + 1; }")
	cache := NewImageCache(0)
	defer cache.Close()
	before, err := cache.Open(load().Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	old := imageOf(moduleOf(before, "libx.so"))
	overwrite("int new_function(int x) { return x * 17 + 3; } int other(int x) { return new_function(x) - 1; }")
	if n, err := old.file.ReadAt(make([]byte, 64), 0); n != 0 || !errors.Is(err, errFileGone) {
		t.Errorf("%d bytes (%v) of the later library are read as the mapped one's, want none", n, err)
	}
	after, err := cache.Open(load().Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	later := imageOf(moduleOf(after, "libx.so"))
	if later == nil || later == old || later.symbols.firstNamed("new_function").Name == "" {
		t.Errorf("the library that is mapped later has no image of its own: %v", later == old)
	}
}

func TestContentsDecideIfDevicesDiffer(t *testing.T) {
	c := child(t, "sleep", "1000")
	testtargets.Asleep(t, c.Process.Pid)
	p := open(t, c.Process.Pid)
	p.noLinks = true
	m := *MappingOf(moduleOf(p, "sleep"))
	self, err := p.files.opener.Open(safeopen.Request{Path: m.Path})
	if err != nil {
		t.Fatal(err)
	}
	if !SameContents(p, self, self.Size(), &m) {
		t.Error("SameContents is false for the file itself")
	}
	other, err := p.files.opener.Open(safeopen.Request{Path: "/proc/self/exe", Kernel: true})
	if err != nil {
		t.Fatal(err)
	}
	if p.isFileOf(other, &m) {
		t.Error("isFileOf is true for another file")
	}
	if err := errors.Join(self.Close(), other.Close()); err != nil {
		t.Error(err)
	}
}
