// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets/bounded"
)

func program(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("PRYWALK_PROGRAMS")
	if dir == "" {
		t.Skip("needs an emulated machine: make test-arm64, make test-kernels")
	}
	return filepath.Join(dir, name)
}

type running struct {
	pid int
	out *bufio.Reader
	in  io.Writer
}

func start(t *testing.T, name string, args ...string) *running {
	t.Helper()
	return started(t, exec.Command(program(t, name), args...), nil)
}

func started(t *testing.T, cmd *exec.Cmd, attr *syscall.SysProcAttr) *running {
	t.Helper()
	cmd.SysProcAttr = attr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	r := &running{pid: cmd.Process.Pid, out: bufio.NewReader(out), in: in}
	if line, err := r.out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready") {
		t.Fatalf("%s printed %q, want ready: %v", cmd.Path, line, err)
	}
	return r
}

// allIn reports whether all threads of a process are in a state of proc(5).
func allIn(pid int, state string) bool {
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	return len(files) > 0 && !slices.ContainsFunc(files, func(f string) bool {
		text, _ := os.ReadFile(f)
		return !strings.Contains(string(text), ") "+state+" ")
	})
}

func prywalk(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program(t, "prywalk"), args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := bounded.Output(cmd)
	if err != nil {
		t.Fatalf("prywalk %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	t.Logf("prywalk %s: %s", strings.Join(args, " "), errs.String())
	return out
}

// The emulated machine is too slow for the default limits: a stop may take more than a millisecond.
var noLimits = []string{"--max-pause", "off", "--max-overhead", "off"}

func dumpOf(t *testing.T, pid int, more ...string) (p stacks.Process) {
	t.Helper()
	args := append([]string{"dump", "--json", "-p", strconv.Itoa(pid), "--max-pause", "off"}, more...)
	if err := json.Unmarshal(prywalk(t, args...), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func recorded(t *testing.T, args ...string) *profile.Profile {
	t.Helper()
	file := filepath.Join(t.TempDir(), "p.pb.gz")
	prywalk(t, slices.Concat([]string{"record", "-o", file}, noLimits, args)...)
	return parsed(t, file)
}

func parsed(t *testing.T, file string) *profile.Profile {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// longest ends the repetitions of [recordedUntil]: the last recording takes so long, or up to four times as long.
const longest = 128

// recordedUntil records again, four times as long each time, until a recording has what is wanted. A busy host gives
// the machine little time, so no time limits it but that of a program which shows nothing.
func recordedUntil(t *testing.T, seconds int, enough func(*profile.Profile) bool, args ...string) *profile.Profile {
	t.Helper()
	for ; ; seconds *= 4 {
		p := recorded(t, append([]string{"-d", strconv.Itoa(seconds)}, args...)...)
		if enough(p) {
			return p
		}
		if seconds >= longest {
			t.Fatalf("prywalk record %s: not what is wanted in %d s", strings.Join(args, " "), seconds)
		}
	}
}

func stackOf(s *profile.Sample) (names []string) {
	for _, l := range s.Location {
		for _, line := range l.Line {
			names = append(names, line.Function.Name)
		}
	}
	return names
}

func label(s *profile.Sample, key string) string {
	if v := s.Label[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}
