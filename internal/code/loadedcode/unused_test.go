// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"prywalk/frames"
	"prywalk/internal/host/filememory"
	"prywalk/internal/host/safeopen"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func started(t *testing.T, c *ImageCache, exe string) (*Process, *exec.Cmd) {
	t.Helper()
	cmd := testtargets.Child(t, exec.Command(exe, "1000"))
	testtargets.Asleep(t, cmd.Process.Pid)
	p, err := c.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return p, cmd
}

func withSources(t *testing.T, p *Process) *Image {
	t.Helper()
	m := p.Main()
	if m == nil {
		t.Fatal("the program has no module")
	}
	for _, s := range m.Sources {
		s.Rule(frames.Query{PC: m.Start - m.Bias + 64})
	}
	return imageOf(m)
}

func TestFilesThatNoProcessRunsAreReleased(t *testing.T) {
	const programs = 40
	c := NewImageCache(0)
	defer c.Close()
	dir := t.TempDir()
	from := copyProgram(t, "sleep")
	var images []*Image
	for i := range programs {
		exe := filepath.Join(dir, fmt.Sprintf("sleep%d", i))
		if out, err := bounded.AllOutput(exec.Command("cp", from, exe)); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		p, cmd := started(t, c, exe)
		images = append(images, withSources(t, p))
		if i == programs-1 {
			defer p.Close()
			break
		}
		testtargets.Kill(cmd)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if err := os.Remove(exe); err != nil {
				t.Fatal(err)
			}
		}
	}
	taken := filememory.Process().Used()
	for range 3 {
		c.CloseUnused()
	}
	left := map[bool]int{}
	for i, img := range images {
		if img.Unused() == (i == programs-1) || (img.rules.Load() == nil) != img.Unused() {
			t.Errorf("file %d: unused %v, code in memory %v", i, img.Unused(), img.rules.Load() != nil)
		}
		left[img.file.closed]++
	}
	if left[true] != programs-1 {
		t.Errorf("%d of %d files are open, want 1", left[false], programs)
	}
	for i, img := range images {
		if here := keeps(c, img); here != (i%2 == 1) {
			t.Errorf("file %d is kept: %v, want those with a name only", i, here)
		}
		if has := len(img.ELF.Sections) > 0 && len(img.ELF.Segments) > 0; has != (i%2 == 1) {
			t.Errorf("file %d has headers in memory: %v, want those of kept files only", i, has)
		}
	}
	if now := filememory.Process().Used(); now >= taken {
		t.Errorf("%d bytes of the budget used, want less than the %d before", now, taken)
	}
	got := len(images[1].preparedRules().sources)
	if got == 0 || images[1].ReadAddr(images[1].ELF.Entry, make([]byte, 8)) != 8 {
		t.Errorf("%d sources of a file that runs again, and its code is unreadable", got)
	}
}

// A file without an image is one made at run time, such as a memfd of .NET: each process has another one.
func TestFilesWithoutImageAreForgotten(t *testing.T) {
	c := NewImageCache(0)
	defer c.Close()
	path := filepath.Join(t.TempDir(), "code")
	if err := os.WriteFile(path, []byte{0xc3}, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := new(safeopen.Opener).Open(safeopen.Request{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	img, err := c.Load(f, &Mapping{MapsLine: MapsLine{Path: path}})
	if img != nil || err != nil {
		t.Fatalf("image %v, error %v, want none", img, err)
	}
	c.setName(fileKey{inode: 1, path: path}, img)
	if c.CloseUnused(); len(c.byFile)+len(c.byName) != 0 {
		t.Errorf("%d files and %d names are kept, want none", len(c.byFile), len(c.byName))
	}
}

func keeps(c *ImageCache, img *Image) bool {
	for _, by := range c.byFile {
		if by == img {
			return true
		}
	}
	return false
}

func TestFileInUseIsKept(t *testing.T) {
	c := NewImageCache(0)
	defer c.Close()
	exe := copyProgram(t, "sleep")
	for range 4 {
		p, cmd := started(t, c, exe)
		img := withSources(t, p)
		testtargets.Kill(cmd)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		c.CloseUnused()
		if img.Unused() || img.rules.Load() == nil {
			t.Fatal("a file in use was released")
		}
	}
}

func TestMappingsOfAClosedProcessAreMarked(t *testing.T) {
	c := NewImageCache(0)
	defer c.Close()
	p, _ := started(t, c, copyProgram(t, "sleep"))
	at := MappingOf(p.Main())
	if at.ProcessClosed() {
		t.Error("ProcessClosed is true for an open process")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if !at.ProcessClosed() {
		t.Error("ProcessClosed is false for a closed process")
	}
}

func TestProgramThatWasWrittenToTheSameFileHasANewImage(t *testing.T) {
	for _, sweeps := range []int{0, 1, 3} {
		c := NewImageCache(0)
		defer c.Close()
		exe := copyProgram(t, "sleep")
		p, cmd := started(t, c, exe)
		first := withSources(t, p)
		before := first.BuildID
		testtargets.Kill(cmd)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		for range sweeps {
			c.CloseUnused()
		}
		other, err := os.ReadFile(copyProgram(t, "tail"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(exe, other, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd = testtargets.Child(t, exec.Command(exe, "-f", "/dev/null"))
		testtargets.Asleep(t, cmd.Process.Pid)
		p, err = c.Open(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		after := withSources(t, p)
		if after == nil || after.BuildID == before || p.Main().BuildID != after.BuildID {
			t.Errorf("after %d sweeps the program's image is %+v, want another than that of the first", sweeps, after)
		}
		if n := first.ReadAddr(first.ELF.Entry, make([]byte, 8)); n != 0 {
			t.Errorf("after %d sweeps %d bytes of the first program are read, want none of the second", sweeps, n)
		}
	}
}
