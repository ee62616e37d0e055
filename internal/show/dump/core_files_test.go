// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/code/elffile"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/core"
)

func sleeperCore(t *testing.T, flags ...string) (exe, coreFile string) {
	t.Helper()
	exe = compile(t, "sleeper.c", append([]string{"-O1", "-g", "-fno-optimize-sibling-calls"}, flags...)...)
	return exe, coreOf(t, exe)
}

func coreOf(t *testing.T, exe string) string {
	t.Helper()
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	defer testtargets.Kill(cmd)
	testtargets.Asleep(t, cmd.Process.Pid)
	stopAll(t, cmd.Process.Pid)
	return gcore(t, cmd.Process.Pid)
}

func buildID(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elffile.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f.BuildID()
}

const chain = "inner middle outer main __libc_start_call_main"

func complete(t *testing.T, coreFile, sysroot string) {
	t.Helper()
	c := openCore(t, coreFile, sysroot)
	th := &Core(c, Options{MaxDepth: -1}).Threads[0]
	if !th.Complete || !strings.Contains(names(th), chain) {
		t.Errorf("%s: %s; warnings %q", th.StopReason, names(th), c.Warnings())
	}
}

func copyTo(t *testing.T, root, path, from string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, path), b, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestProgramThatWasReplacedIsFoundOutByItsBuildID(t *testing.T) {
	exe, coreFile := sleeperCore(t)
	complete(t, coreFile, "")
	whole := pcs(&dumpOf(t, coreFile).Threads[0])
	root, old := t.TempDir(), buildID(t, exe)
	copyTo(t, root, exe, exe)
	copyTo(t, "/", exe, compile(t, "sleeper.c", "-O2", "-DOTHER"))
	c := openCore(t, coreFile, "")
	warned := c.Warnings()
	if len(warned) != 1 || !strings.Contains(warned[0], old) || !strings.Contains(warned[0], buildID(t, exe)) ||
		!strings.Contains(warned[0], exe) {
		t.Errorf("warnings %q", warned)
	}
	empty := t.TempDir() // this host's file is none of the machine's
	if got := openCore(t, coreFile, empty).Warnings(); len(got) != 1 || !slices.ContainsFunc(got, func(w string) bool {
		return strings.HasPrefix(w, "not found: "+exe+" in "+empty+"; ")
	}) || slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, "not the file that ran") }) {
		t.Errorf("below an empty directory: %q", got)
	}
	th := &Core(c, Options{MaxDepth: -1}).Threads[0]
	if names := names(th); strings.Contains(names, "inner") || strings.Contains(names, "decoy") {
		t.Errorf("names of another file: %s", names)
	}
	if got := pcs(th); len(got) != 2 || !slices.Equal(got, whole[:2]) || th.StopReason != "no-rule" {
		t.Errorf("%s: %#x, want the beginning of %#x", th.StopReason, got, whole)
	}
	for i := range th.Frames {
		if f := &th.Frames[i]; f.Module == exe && f.BuildID != old {
			t.Errorf("build id %s, want %s", f.BuildID, old)
		}
	}
	complete(t, coreFile, root)
}

func TestProgramWithoutBuildIDIsComparedWithTheCore(t *testing.T) {
	exe, coreFile := sleeperCore(t, "-Wl,--build-id=none")
	complete(t, coreFile, "")
	copyTo(t, "/", exe, compile(t, "sleeper.c", "-O2", "-DOTHER", "-Wl,--build-id=none"))
	c := openCore(t, coreFile, "")
	if warned := c.Warnings(); len(warned) != 1 || !strings.Contains(warned[0], "headers differ") {
		t.Errorf("warnings %q", warned)
	}
	if th := &Core(c, Options{MaxDepth: -1}).Threads[0]; th.Complete || strings.Contains(names(th), "inner") {
		t.Errorf("%s: %s", th.StopReason, names(th))
	}
}

func TestCoreFromAnotherMachineIsWalkedByItsSysroot(t *testing.T) {
	exe, coreFile := sleeperCore(t, "-Wl,--build-id")
	root := t.TempDir()
	debug := filepath.Join("/usr/lib/debug/.build-id", buildID(t, exe)[:2], buildID(t, exe)[2:]+".debug")
	run(t, "objcopy", "--only-keep-debug", exe, exe+".debug")
	run(t, "strip", exe)
	copyTo(t, root, debug, exe+".debug")
	copyTo(t, root, exe, exe)
	for _, lib := range strings.Fields(output(t, "ldd", exe)) {
		if strings.HasPrefix(lib, "/") {
			file, err := filepath.EvalSymlinks(lib)
			if err != nil {
				t.Fatal(err)
			}
			copyTo(t, root, file, file)
		}
	}
	if err := os.RemoveAll(filepath.Dir(exe)); err != nil {
		t.Fatal(err)
	}
	c := openCore(t, coreFile, "")
	if warned := c.Warnings(); len(warned) != 1 || !strings.Contains(warned[0], "not found: "+exe) {
		t.Errorf("warnings %q", warned)
	}
	t.Chdir(root)
	for _, sysroot := range []string{root, ".", "../" + filepath.Base(root)} {
		complete(t, coreFile, sysroot)
		if got := openCore(t, coreFile, sysroot).Warnings(); len(got) > 0 {
			t.Errorf("sysroot %s: warnings %q", sysroot, got)
		}
	}
}

// As drgn does where the C library's file is missing: Fedora and Ubuntu build it with frame pointers.
func TestStackOfALibraryWhoseFileIsMissingIsWalkedByFramePointers(t *testing.T) {
	lib := filepath.Join(t.TempDir(), "libcalls.so")
	run(t, "cc", "-shared", "-fPIC", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", lib,
		"testdata/callback.c")
	exe := filepath.Join(filepath.Dir(lib), "prog")
	run(t, "cc", "-o", exe, "testdata/callback.c", "-DPROGRAM", "-O1", "-fno-optimize-sibling-calls", lib)
	coreFile := coreOf(t, exe)
	whole := dumpOf(t, coreFile).Threads[0]
	const own = "leaf in_library deep_in_library library_main main "
	if !whole.Complete || !strings.Contains(names(&whole), own) {
		t.Fatalf("with the file: %s, %s", whole.StopReason, names(&whole))
	}
	if err := os.Remove(lib); err != nil {
		t.Fatal(err)
	}
	th := &Core(openCore(t, coreFile, ""), Options{MaxDepth: -1}).Threads[0]
	if !th.Complete || !slices.Equal(pcs(th), pcs(&whole)) {
		t.Errorf("without the file: %s, %#x, want %#x", th.StopReason, pcs(th), pcs(&whole))
	}
}

func TestDebugFrameBelowTheSysrootIsFoundByBuildID(t *testing.T) {
	exe, coreFile := sleeperCore(t, "-Wl,--build-id", "-fno-asynchronous-unwind-tables", "-fomit-frame-pointer",
		"-fno-builtin")
	root := t.TempDir()
	debug := filepath.Join("/usr/lib/debug/.build-id", buildID(t, exe)[:2], buildID(t, exe)[2:]+".debug")
	run(t, "objcopy", "--only-keep-debug", "--compress-debug-sections=zlib", exe, exe+".debug")
	run(t, "strip", exe)
	copyTo(t, root, exe, exe)
	for _, with := range []bool{false, true} {
		if with {
			copyTo(t, root, debug, exe+".debug")
		}
		c := openCore(t, coreFile, root)
		th := &Core(c, Options{MaxDepth: -1}).Threads[0]
		byCFI := !slices.ContainsFunc(th.Frames, func(f stacks.Frame) bool {
			return f.Method != "cfi" && f.Method != "context" &&
				f.Function != "_start"
		})
		if !th.Complete || byCFI != with || with && !strings.Contains(names(th), chain) {
			t.Errorf("debug file %v: %s, %+v", with, th.StopReason, th.Frames)
		}
	}
}

func TestCoreWithoutHeadersSaysThatNothingCouldBeChecked(t *testing.T) {
	exe := compile(t, "crash.c", "-g", "-O1", "-fno-optimize-sibling-calls")
	coreFile := kernelCore(t, "/bin/sh", "-c", `echo 0x23 >/proc/self/coredump_filter; exec "$0"`, exe)
	c := openCore(t, coreFile, "")
	if warned := c.Warnings(); len(warned) != 1 || !strings.Contains(warned[0], "nothing to check") ||
		!strings.Contains(warned[0], exe) {
		t.Errorf("warnings %q", warned)
	}
	if th := &Core(c, Options{MaxDepth: -1}).Threads[0]; !th.Complete {
		t.Errorf("%s: %s", th.StopReason, names(th))
	}
}

func TestTruncatedCoreGivesTheBeginningsOfItsStacks(t *testing.T) {
	exe := compile(t, "thrower.cc", "-g", "-O2", "-pthread")
	coreFile := kernelCore(t, exe)
	whole := dumpOf(t, coreFile)
	b, err := os.ReadFile(coreFile)
	if err != nil {
		t.Fatal(err)
	}
	opened, full := 0, 0
	for n := len(b) - 1; n > 0; n -= len(b) / 40 {
		c, err := core.Open(bytes.NewReader(b[:n]), int64(n), "")
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "cut off") {
				t.Errorf("%d bytes: %v", n, err)
			}
			continue
		}
		opened++
		p := Core(c, Options{MaxDepth: -1})
		if len(c.Warnings()) == 0 {
			t.Errorf("%d bytes: no warning", n)
		}
		for i := range p.Threads {
			ours, all := pcs(&p.Threads[i]), pcs(&whole.Threads[i])
			if len(ours) > len(all) || !slices.Equal(ours, all[:len(ours)]) {
				t.Errorf("%d bytes, thread %d: %#x is not the beginning of %#x", n, i, ours, all)
			}
			if p.Threads[i].Complete {
				full++
			} else if s := p.Threads[i].StopReason; s != "stack-cut" {
				t.Errorf("%d bytes, thread %d: %s", n, i, s)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if opened < 20 || full == 0 {
		t.Errorf("%d cores opened, %d stacks complete", opened, full)
	}
}
