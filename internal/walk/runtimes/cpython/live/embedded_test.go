// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/observed"
)

func headers(exe string) string {
	home := filepath.Dir(filepath.Dir(exe))
	found, _ := filepath.Glob(filepath.Join(home, "include/python3.*/Python.h"))
	for _, file := range found {
		if major, _, _ := strings.Cut(filepath.Base(filepath.Dir(file)), "."); major == "python3" {
			return filepath.Dir(file)
		}
	}
	return ""
}

func compileHost(t *testing.T, name string, flags ...string) (file string, err error) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name)
	args := append([]string{"-g", "-O1", "-o", file, "testdata/host.c"}, flags...)
	if out, err := bounded.AllOutput(exec.Command("cc", args...)); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return file, nil
}

func chainOfDump(d *stacks.Process, functions []string) (chain []string) {
	python := false
	for i := range d.Threads {
		if th := &d.Threads[i]; th.TID == d.PID {
			for i := range th.Frames {
				f := &th.Frames[i]
				python = python || f.Kind == "cpython"
				if slices.Contains(functions, f.Function) {
					chain = append(chain, f.Function)
				}
			}
		}
	}
	if !python {
		return nil
	}
	return chain
}

const mostDumps = 40

// wantInOneStack requires all calls in one dump, and only the outer ones of them in the others.
func wantInOneStack(t *testing.T, pid int, want []string) *stacks.Process {
	t.Helper()
	p, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range mostDumps {
		d, err := dump.Sample(p, dump.Options{MaxDepth: -1})
		if err != nil {
			t.Fatal(err)
		}
		got := chainOfDump(d, want)
		if !slices.Equal(got, want[max(0, len(want)-len(got)):]) {
			t.Fatalf("%q, want the end of %q", got, want)
		}
		if len(got) == len(want) {
			return d
		}
	}
	t.Fatalf("no dump has all of %q", want)
	return nil
}

var hosted = []string{"leaf", "third", "host_calls", "host_call", "second", "host_calls", "host_call", "first", "runs",
	"<module>"}

func TestCExtensionFramesAreBetweenTheirCallers(t *testing.T) {
	all := pythons(t)
	var from string
	for _, exe := range all {
		from = max(from, headers(exe))
	}
	testtargets.Need(t, from != "", "the headers of a CPython", testtargets.SetUp)
	module, err := compileHost(t, "host.abi3.so", "-shared", "-fPIC", "-I", from)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", filepath.Dir(module))
	for version, exe := range all {
		t.Run(version, func(t *testing.T) {
			err := bounded.Run(exec.Command(exe, "-c", "import host"))
			testtargets.Need(t, err == nil, "extensions of the limited interface", "another build of this CPython")
			cmd, _ := observed.Launch(t, exe, "testdata/hosted.py")
			wantInOneStack(t, cmd.Process.Pid, hosted)
		})
	}
}

type embedder struct {
	home   string
	static bool
	flags  []string
}

func embedders(t *testing.T) map[string]embedder {
	t.Helper()
	all := map[string]embedder{}
	for version, exe := range pythons(t) {
		include := headers(exe)
		if include == "" {
			continue
		}
		home, name := filepath.Dir(filepath.Dir(exe)), "lib"+filepath.Base(include)
		flags := []string{"-DPROGRAM", "-I", include, "-rdynamic"}
		libs := []string{"-lm", "-ldl", "-lutil", "-pthread"}
		if static, _ := filepath.Glob(filepath.Join(home, "lib/*/config-*", name+".a")); len(static) > 0 {
			all[version+", static"] = embedder{home, true, slices.Concat(flags, []string{"-no-pie", static[0]}, libs)}
		}
		if shared, _ := filepath.Glob(filepath.Join(home, "lib", name+".so")); len(shared) > 0 {
			all[version+", shared"] = embedder{home, false, slices.Concat(flags, shared, libs,
				[]string{"-Wl,-rpath," + filepath.Dir(shared[0])})}
		}
	}
	testtargets.Need(t, len(all) > 0, "the headers and the library of a CPython", testtargets.SetUp)
	return all
}

func (e *embedder) build(t *testing.T) (program string) {
	t.Helper()
	program, err := compileHost(t, "host", e.flags...)
	if err != nil && e.static {
		program, err = compileHost(t, "host", append(e.flags, "-lexpat", "-lz")...)
		testtargets.Need(t, err == nil, "the static libraries of a CPython", testtargets.SetUp)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONHOME", e.home)
	return program
}

func TestProgramsWithTheInterpreterInsideHaveOneStack(t *testing.T) {
	for name, e := range embedders(t) {
		t.Run(name, func(t *testing.T) {
			cmd, _ := observed.Launch(t, e.build(t), "testdata/hosted.py")
			wantInOneStack(t, cmd.Process.Pid, append(slices.Clone(hosted), "host_runs", "main"))
		})
	}
}

// gdb runs Python, which runs a command of gdb, which runs Python.
func TestTheInterpreterInsideOfGdbHasItsFrames(t *testing.T) {
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		t.Fatal(err)
	}
	out, err := bounded.Output(exec.Command(gdb, "-nx", "-batch", "-ex", "python print('has Python')"))
	testtargets.Need(t, err == nil && strings.Contains(string(out), "has Python"), "a gdb with Python", testtargets.SetUp)
	gdb, err = filepath.EvalSymlinks(gdb)
	if err != nil {
		t.Fatal(err)
	}
	cmd, _ := observed.Launch(t, gdb, "-nx", "-batch", "-ex", "source testdata/in_gdb.py")
	file, err := os.Readlink("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/exe")
	testtargets.Need(t, err == nil && file == gdb, "a gdb that is no script", testtargets.SetUp)
	d := wantInOneStack(t, cmd.Process.Pid, []string{"leaf", "invoked", "first", "<module>"})
	between := map[string]int{} // by the Python function that they called
	for _, th := range d.Threads {
		called := ""
		for _, f := range th.Frames {
			switch {
			case th.TID != d.PID:
			case f.Kind == "cpython":
				called = strings.TrimPrefix(f.Function, "Step.")
			case filepath.Base(f.Module) == filepath.Base(gdb):
				between[called]++
			}
		}
	}
	if len(between) != 2 || between["invoke"] == 0 || between["<module>"] == 0 {
		t.Errorf("functions of gdb by the Python function that they call: %v", between)
	}
}
