// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// Each way in which a linker or a loader finds a thread-local variable.
func TestSamplesHaveTheRequestThatTheThreadPublishes(t *testing.T) {
	descriptors, calls := "-mtls-dialect=gnu2", "-mtls-dialect=gnu"
	if runtime.GOARCH == "arm64" {
		descriptors, calls = "-mtls-dialect=desc", "-mtls-dialect=trad"
	}
	type way struct {
		name    string
		cc      string
		library []string // flags; nil: the variable is the program's
		program []string
	}
	for _, c := range testtargets.EachNth(3, []way{
		{"program", "gcc", nil, []string{"-DWHOLE", "-rdynamic"}},
		{"program without PIE", "gcc", nil, []string{"-DWHOLE", "-rdynamic", "-no-pie"}},
		{"static program", "gcc", nil,
			[]string{"-DWHOLE", "-static-pie", "-Wl,--export-dynamic-symbol=otel_thread_ctx_v1"}},
		{"library, descriptors", "gcc", []string{descriptors}, nil},
		{"library, calls", "gcc", []string{calls}, nil},
		{"library, initial-exec", "gcc", []string{"-ftls-model=initial-exec"}, nil},
		{"opened, descriptors", "gcc", []string{descriptors}, []string{"-DOPENED"}},
		{"opened, calls", "gcc", []string{calls}, []string{"-DOPENED"}},
		{"musl, program", "musl-gcc", nil, []string{"-DWHOLE", "-rdynamic"}},
		{"musl, opened, calls", "musl-gcc", []string{calls}, []string{"-DOPENED"}},
		{"musl, opened, descriptors", "musl-gcc", []string{descriptors}, []string{"-DOPENED"}},
	}) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			testtargets.NeedProgram(t, c.cc)
			dir := scratch(t, nil)
			exe, library := filepath.Join(dir, "requests"), filepath.Join(dir, "librequests.so")
			compile := func(args ...string) {
				cmd := exec.Command(c.cc, append([]string{"-O1", "-pthread", "testdata/requests.c"}, args...)...)
				if out, err := bounded.AllOutput(cmd); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			args := append([]string{"-o", exe}, c.program...)
			if c.library != nil {
				compile(append([]string{"-DLIBRARY", "-shared", "-fPIC", "-o", library}, c.library...)...)
				if !slices.Contains(c.program, "-DOPENED") {
					args = append(args, library)
				}
			}
			compile(append(args, "-ldl")...)
			cmd := exec.Command(exe, library)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			})
			pid := cmd.Process.Pid
			eventually(t, "its four threads have names", func() bool {
				names, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/comm")
				var all []byte
				for _, name := range names {
					text, _ := os.ReadFile(name)
					all = append(all, text...)
				}
				return bytes.Count(all, []byte("\n")) == 5 && !bytes.Contains(bytes.ReplaceAll(all, []byte("requests\n"),
					nil), []byte("requests"))
			})
			checkRequests(t, pid, filepath.Join(dir, "r.pb.gz"), c.cc == "gcc" && c.name != "static program")
		})
	}
}

// Each thread has its own request, or none, in all of its samples but those of its first moments. That of a thread that
// was never stopped needs the C library's lists of threads, which musl and
// static programs lack.
func checkRequests(t *testing.T, pid int, file string, ofSleepers bool) {
	t.Helper()
	prywalk(t, "record", "--context", "-p", strconv.Itoa(pid), "-d", "1", "-o", file).must(t, 0)
	want := map[string]string{"computes": "01 11 /a", "sleeps": "02 12 /b", "invalid": "  ", "detached": "  "}
	if !ofSleepers {
		delete(want, "sleeps")
	}
	seen := map[string]bool{}
	for _, s := range readProfile(t, file).Sample {
		label := func(key string) string { return strings.Join(s.Label[key], ",") }
		once := func(key string, n int) string { // of the byte that the whole id repeats
			id := label(key)
			if len(id) != 2*n || strings.Repeat(id[:2], n) != id {
				return id
			}
			return id[:2]
		}
		name := label("thread")
		got := once("trace_id", 16) + " " + once("span_id", 8) + " " + label("http.route")
		if w, ok := want[name]; ok && got != w && strings.TrimSpace(got) != "" {
			t.Errorf("%s: request %q, want %q", name, got, w)
		} else if got == w {
			seen[name] = true
		}
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("no sample of the thread %s has its request %q", name, want[name])
		}
	}
	if !ofSleepers {
		return
	}
	if r := prywalk(t, "report", "--by", "trace", "--value", "wall", file).must(t, 0); !strings.Contains(r.stdout,
		strings.Repeat("02", 16)+"  (") {
		t.Errorf("report --by trace does not name the sleeper's trace: %s", clip(r.stdout))
	}
}
