// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets"
)

func TestListedMappingsHaveTheModulesOfTheProcess(t *testing.T) {
	exe, err := testtargets.Compile("phases.c")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "8000", "1", "100000")
	testtargets.Ready(t, cmd)
	cache := NewImageCache(0)
	t.Cleanup(func() { _ = cache.Close() })
	p, err := cache.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	text, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/maps")
	if err != nil {
		t.Fatal(err)
	}
	all, err := parseMaps(text)
	if err != nil {
		t.Fatal(err)
	}
	var maps []MapsLine
	for _, m := range all {
		if m.Perm&PermExec != 0 && m.Path != "[vsyscall]" {
			maps = append(maps, m)
		}
	}
	stale := MapsLine{Start: maps[0].Start, End: maps[0].Start + 1, Inode: 1, Path: "/nowhere"}
	l := cache.Mmap2Space(p.Arch, append([]MapsLine{stale}, maps...), os.Getpid())
	for _, m := range maps {
		was, is := p.Space().ModuleAt(m.Start), l.Space().ModuleAt(m.Start)
		if was == nil || is == nil || was.Bias != is.Bias || was.Name != is.Name || was.BuildID != is.BuildID ||
			len(was.Sources) != len(is.Sources) {
			t.Errorf("%s: listed %+v, want %+v", m.Path, is, was)
		}
	}
	if n := len(l.Space().Modules()); n != len(maps) {
		t.Errorf("%d modules, want those of %d mappings", n, len(maps))
	}
}

func TestListedFileWithAnotherIdentityIsNotUsed(t *testing.T) {
	cache := NewImageCache(0)
	t.Cleanup(func() { _ = cache.Close() })
	for _, m := range []MapsLine{
		{Start: 0x1000, End: 0x2000, Inode: 12345678901, Path: "/proc/self/exe"},
		{Start: 0x1000, End: 0x2000, Inode: 5, Dev: 1 << 32, Path: "/bin/sh"},
		{Start: 0x1000, End: 0x2000, Inode: 5, Path: "/nowhere/at/all"},
		{Start: 0x1000, End: 0x2000, Path: "//anon"},
		{Start: 0x1000, End: 0x2000, Path: "[vdso]"},
		{Start: 0x2000, End: 0x1000, Path: "/bin/sh"},
	} {
		for _, mod := range cache.Mmap2Space(frames.X86_64, []MapsLine{m}, os.Getpid()).Space().Modules() {
			if mod.BuildID != "" || len(mod.Sources) != 0 || mod.Calls != nil {
				t.Errorf("%s: module %+v, want a blind one", m.Path, mod)
			}
		}
	}
}

// awk can be a link to gawk.
func TestImageOfARemovedFileServesProcessesThatWereNeverOpened(t *testing.T) {
	cache := NewImageCache(0)
	defer cache.Close()
	exe := copyProgram(t, "sleep")
	p, cmd := started(t, cache, exe)
	img := withSources(t, p)
	var maps []MapsLine
	if err := p.Mappings(func(m *RawMapping) {
		if m.Path = string(m.RawPath); m.Path == exe {
			maps = append(maps, m.MapsLine)
		}
	}); err != nil {
		t.Fatal(err)
	}
	testtargets.Kill(cmd)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(exe); err != nil {
		t.Fatal(err)
	}
	modules := cache.Mmap2Space(frames.X86_64, maps, os.Getpid()).Space().Modules()
	if len(maps) == 0 || len(modules) == 0 || imageOf(modules[0]) != img {
		t.Errorf("%d modules of %d mappings, want one of the image that is kept", len(modules), len(maps))
	}
}
