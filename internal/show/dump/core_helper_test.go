// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/host/procmem"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/walk/core"
)

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(testtargets.NeedProgram(t, name), args...)
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := bounded.Output(cmd)
	if err != nil {
		t.Logf("%s %v: %v\n%s", name, args, err, stderr.Bytes()) // eu-stack fails for one bad thread of many
	}
	return string(out)
}

func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	cc := "cc"
	if strings.HasSuffix(source, ".cc") {
		cc = "c++"
	}
	file := filepath.Join("testdata", source)
	return testtargets.Compiled{
		Name: "prog", Sources: []string{file}, Command: append([]string{cc, "-o", "OUT", file}, flags...),
	}.Build(t)
}

func stopAll(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	testtargets.Eventually(t, "all threads stop", func() bool { return stopped(pid) })
}

func stopped(pid int) bool {
	dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, dir := range dirs {
		tid, _ := strconv.Atoi(filepath.Base(dir))
		var st procmem.Stat
		if err := procmem.ReadStat(tid, &st); err != nil || st.State != 'T' {
			return false
		}
	}
	return len(dirs) > 0
}

func gcore(t *testing.T, pid int) string {
	t.Helper()
	prefix := filepath.Join(t.TempDir(), "core")
	output(t, "gcore", "-o", prefix, strconv.Itoa(pid))
	return fmt.Sprintf("%s.%d", prefix, pid)
}

func kernelCore(t *testing.T, exe string, args ...string) string {
	t.Helper()
	pattern, _ := os.ReadFile("/proc/sys/kernel/core_pattern")
	testtargets.Need(t, !bytes.ContainsAny(pattern, "|/"), "cores in the current folder",
		"sudo sysctl kernel.core_pattern=core")
	dir := t.TempDir()
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -c unlimited; exec "$0" "$@"`, exe}, args...)...)
	cmd.Dir = dir
	out, err := bounded.AllOutput(cmd)
	cores, _ := filepath.Glob(filepath.Join(dir, "*core*"))
	if err == nil {
		t.Fatalf("%s ends without a signal: %s", exe, out)
	}
	testtargets.Need(t, len(cores) == 1, "cores of the kernel", "a shell with ulimit -H -c unlimited")
	return cores[0]
}

func openCore(t *testing.T, file, sysroot string) *core.Core {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	c, err := core.Open(f, st.Size(), sysroot)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func dumpOf(t *testing.T, file string) *stacks.Process {
	t.Helper()
	return dumpBelow(t, file, "")
}

func dumpBelow(t *testing.T, file, sysroot string) *stacks.Process {
	t.Helper()
	c := openCore(t, file, sysroot)
	for _, w := range c.Warnings() {
		t.Errorf("warning: %s", w)
	}
	return Core(c, Options{MaxDepth: -1})
}

func pcs(th *stacks.Thread) []uint64 {
	var out []uint64
	for i := range th.Frames {
		if !th.Frames[i].Inlined && th.Frames[i].PC != 0 {
			out = append(out, uint64(th.Frames[i].PC))
		}
	}
	return out
}

func names(th *stacks.Thread) string {
	var out []string
	for i := range th.Frames {
		out = append(out, th.Frames[i].Function)
	}
	return strings.Join(out, " ")
}

var (
	gdbThread = regexp.MustCompile(`^Thread .*LWP (\d+)`)
	gdbFrame  = regexp.MustCompile(`^at (0x[0-9a-f]+) (0x[0-9a-f]+)$`)
	euThread  = regexp.MustCompile(`^TID (\d+):`)
	euFrame   = regexp.MustCompile(`^#\d+ +(0x[0-9a-f]+)`)
)

// gdb's inlined and inferred tail calls have another frame's stack pointer.
func gdbStacks(t *testing.T, exe, coreFile string) map[int][]uint64 {
	t.Helper()
	text := output(t, "gdb", "-nx", "-batch", "-ex", "set backtrace past-main on", "-ex", "set backtrace past-entry on",
		"-ex", `thread apply all frame apply all -q printf "at %#lx %#lx\n", $pc, $sp`, exe, coreFile)
	out := map[int][]uint64{}
	tid, last := 0, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := gdbThread.FindStringSubmatch(line); m != nil {
			tid, _ = strconv.Atoi(m[1])
			last = ""
		} else if m := gdbFrame.FindStringSubmatch(line); m != nil {
			if last == m[2] {
				out[tid] = out[tid][:len(out[tid])-1]
			}
			last = m[2]
			pc, _ := strconv.ParseUint(m[1], 0, 64)
			out[tid] = append(out[tid], pc)
		}
	}
	return out
}

func euStacks(t *testing.T, exe, coreFile string) map[int][]uint64 {
	t.Helper()
	s := bufio.NewScanner(strings.NewReader(output(t, "eu-stack", "-n", "0", "--core="+coreFile, "--executable="+exe)))
	out := map[int][]uint64{}
	for tid := 0; s.Scan(); {
		if m := euThread.FindStringSubmatch(s.Text()); m != nil {
			tid, _ = strconv.Atoi(m[1])
		} else if m := euFrame.FindStringSubmatch(s.Text()); m != nil {
			pc, _ := strconv.ParseUint(m[1], 0, 64)
			out[tid] = append(out[tid], pc)
		}
	}
	return out
}
