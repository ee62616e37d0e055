// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"prywalk/frames"
	"prywalk/internal/host/filememory"
	"prywalk/internal/host/process"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// openByPath is [ImageCache.Open] without the right to follow links in map_files.
func openByPath(t *testing.T, c *ImageCache, pid int) *Process {
	t.Helper()
	opened, err := process.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	files := &TrustedFiles{PID: pid, tid: opened.MemoryTID()}
	p := &Process{Process: opened, cache: c, files: files, closed: new(atomic.Bool), noLinks: true}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// withoutLibrary starts a program, and deletes its C library, a copy.
func withoutLibrary(t *testing.T) *exec.Cmd {
	t.Helper()
	first := child(t, "sleep", "1000")
	var libc string
	testtargets.Eventually(t, "sleep has loaded libc", func() bool {
		p, err := Open(first.Process.Pid)
		if err != nil {
			return false
		}
		defer p.Close()
		m := moduleOf(p, "libc.so.6")
		if m != nil {
			libc = m.Name
		}
		return m != nil
	})
	own := filepath.Join(t.TempDir(), "libc.so.6")
	if out, err := bounded.AllOutput(exec.Command("cp", libc, own)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command("sleep", "1000")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Dir(own))
	testtargets.Child(t, cmd)
	testtargets.Eventually(t, "sleep has loaded the copy of libc", func() bool {
		p, err := Open(cmd.Process.Pid)
		if err != nil {
			return false
		}
		defer p.Close()
		m := moduleOf(p, "libc.so.6")
		return m != nil && m.Name == own
	})
	testtargets.Asleep(t, cmd.Process.Pid)
	if err := os.Remove(own); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestImagesInMemoryAreDroppedAfterTheirProcess(t *testing.T) {
	before := filememory.Process().Used()
	c := NewImageCache(0)
	cmd := withoutLibrary(t)
	p := openByPath(t, c, cmd.Process.Pid)
	m := moduleOf(p, "libc.so.6")
	img := imageOf(m)
	if img == nil || !img.FromMemory {
		t.Fatalf("the library's image is %+v, want one in memory", img)
	}
	at := img.symbols.firstNamed("nanosleep").Addr
	q := frames.Query{PC: at + 1}
	rule := func() (ok bool) {
		for _, s := range m.Sources {
			_, _, found := s.Rule(q)
			ok = ok || found
		}
		return ok
	}
	for range 4 {
		c.CloseUnused()
	}
	if at == 0 || !rule() || img.Unused() || img.ELF.Memory().Used() == 0 {
		t.Errorf("nanosleep at %#x, rule %v, unused %v: want a usable image of a live process", at, rule(), img.Unused())
	}
	testtargets.Kill(cmd)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if !img.Unused() {
		t.Error("the image is in use after its process: names would not be final when it is dropped")
	}
	c.CloseUnused()
	if img.ELF.Memory().Used() == 0 {
		t.Error("the image is dropped by the first call, want a later one")
	}
	for range 2 {
		c.CloseUnused()
	}
	if used := img.ELF.Memory().Used(); used != 0 || len(c.inMemory) != 0 {
		t.Errorf("%d bytes are counted, %d images are kept; want none", used, len(c.inMemory))
	}
	if s := img.symbols.firstNamed("nanosleep"); s.Addr != 0 || rule() || img.Table() != nil {
		t.Errorf("a dropped image has symbol %+v, rule %v, table %v; want none", s, rule(), img.Table())
	}
	if clone, err := img.Clone(); err == nil {
		clone.Close()
		t.Error("a dropped image is cloned, want an error")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if left := filememory.Process().Used() - before; left != 0 {
		t.Errorf("%d bytes are counted after Close", left)
	}
}
